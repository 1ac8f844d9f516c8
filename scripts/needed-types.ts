/** Duty: leave only those types in dist/ that the package's entries need. The compiler writes those of all modules, and most are read by nobody. */
import { globSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { parseSync, Visitor } from 'rolldown/utils'

interface Manifest {
  readonly exports: Readonly<Record<string, string | { readonly types: string }>>
}

export function removeUnneededTypes(folder: string): void {
  const { exports } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as Manifest
  const needed = new Set(
    Object.values(exports).flatMap((entry) => (typeof entry === 'string' ? [] : join(folder, entry.types))),
  )
  // A set is walked to its end, also while it grows.
  for (const file of needed) for (const other of importsOf(file)) needed.add(other)
  for (const file of globSync('dist/**/*.d.ts', { cwd: folder }).map((name) => join(folder, name)))
    if (!needed.has(file)) rmSync(file)
}

/** The files of types that this one names, also as `import('./errors.ts').ErrorCode`. */
function importsOf(file: string): string[] {
  const names: string[] = []
  const note = ({ source }: { readonly source: { readonly value: string } | null }) => {
    if (source?.value.startsWith('.')) names.push(source.value)
  }
  const visitor = new Visitor({
    ImportDeclaration: note,
    ExportNamedDeclaration: note,
    ExportAllDeclaration: note,
    TSImportType: note,
  })
  visitor.visit(parseSync(file, readFileSync(file, 'utf8')).program)
  return names.map((name) => join(file, '..', name.replace(/\.ts$/, '.d.ts')))
}
