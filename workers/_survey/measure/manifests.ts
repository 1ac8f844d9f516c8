/**
 * Duty: find the dependencies that a folder declares: recognise manifests, and read each of them.
 * MANIFEST-1 A manifest that cannot be understood is reported. It never makes the survey fail.
 */
import { parse as parseToml } from 'smol-toml'
import { z } from 'zod'
import { type BytePath, namesOf } from '../tree/path.ts'
import {
  type Declared,
  declaredInGoMod,
  declaredInGradle,
  declaredInPom,
  declaredInRequirements,
  declaredInRuby,
} from './manifest-text.ts'
import { isVendored } from './vendored.ts'

/** A larger manifest is reported as too big, because manifests are read as a whole. */
export const manifestBytesMax = 1_048_576
/** Most names of all groups together. */
const namesKeptMax = 20
const nameCharsMax = 60

export const dependencyGroupSchema = z.object({
  /** runtime, development, optional, peer, build … */
  group: z.string(),
  count: z.int(),
  /** The first names, sorted. */
  names: z.array(z.string()),
})
export type DependencyGroup = z.infer<typeof dependencyGroupSchema>

interface Format {
  readonly ecosystem: string
  readonly read: (text: string) => Declared
}

export type ManifestReading =
  | { readonly kind: 'declared'; readonly ecosystem: string; readonly groups: DependencyGroup[] }
  | { readonly kind: 'broken'; readonly ecosystem: string; readonly reason: string }

const formats: Readonly<Record<string, Format>> = {
  'package.json': { ecosystem: 'npm', read: declaredInPackageJson },
  'composer.json': { ecosystem: 'Composer', read: declaredInComposer },
  'pyproject.toml': { ecosystem: 'Python', read: declaredInPyproject },
  'cargo.toml': { ecosystem: 'Cargo', read: declaredInCargo },
  'go.mod': { ecosystem: 'Go', read: declaredInGoMod },
  gemfile: { ecosystem: 'Ruby', read: declaredInRuby },
  'pom.xml': { ecosystem: 'Maven', read: declaredInPom },
  'build.gradle': { ecosystem: 'Gradle', read: declaredInGradle },
  'build.gradle.kts': { ecosystem: 'Gradle', read: declaredInGradle },
}
const requirements: Format = { ecosystem: 'Python', read: declaredInRequirements }

/** True for a manifest whose dependencies count. */
export function isManifest(path: BytePath): boolean {
  const name = namesOf(path).at(-1)
  return name !== undefined && formatOf(name) !== null && !isVendored(path)
}

export function readManifest(name: BytePath, text: string): ManifestReading {
  const format = formatOf(name)
  if (format === null) throw new Error(`${name} is not a manifest`)
  const { ecosystem } = format
  try {
    // A byte order mark is not part of the text.
    const declared = format.read(text.replace(/^\ufeff/, ''))
    return { kind: 'declared', ecosystem, groups: toGroups(declared) }
  } catch (error) {
    const reason = error instanceof Error ? (error.message.split('\n', 1)[0] ?? '') : 'not understood'
    return { kind: 'broken', ecosystem, reason: reason.replace(/[\p{C}\p{Z}]+/gu, ' ').slice(0, 120) }
  }
}

/** A manifest that was not read. */
export function brokenManifest(name: BytePath, reason: string): ManifestReading {
  return { kind: 'broken', ecosystem: formatOf(name)?.ecosystem ?? '', reason }
}

function formatOf(name: BytePath): Format | null {
  const lower = name.toLowerCase()
  if (/^requirements([-_.][\w.-]+)?\.(txt|in)$/.test(lower)) return requirements
  return Object.hasOwn(formats, lower) ? (formats[lower] ?? null) : null
}

function toGroups(declared: Declared): DependencyGroup[] {
  const groups: DependencyGroup[] = []
  let room = namesKeptMax
  for (const [group, names] of declared) {
    if (names.size === 0) continue
    const kept = [...names].sort().slice(0, room)
    groups.push({ group, count: names.size, names: kept.map(cutName) })
    room -= kept.length
  }
  return groups
}

function cutName(name: string): string {
  const preview = name.replace(/[\p{C}\p{Z}]+/gu, ' ')
  return preview.length <= nameCharsMax ? preview : `${preview.slice(0, nameCharsMax - 1)}…`
}

function declaredInPackageJson(text: string): Declared {
  const manifest = asTable(JSON.parse(text), 'the file')
  return new Map([
    ['runtime', keysOf(manifest.dependencies)],
    ['development', keysOf(manifest.devDependencies)],
    ['peer', keysOf(manifest.peerDependencies)],
    ['optional', keysOf(manifest.optionalDependencies)],
  ])
}

function declaredInComposer(text: string): Declared {
  const manifest = asTable(JSON.parse(text), 'the file')
  // `php` and `ext-*` are the platform, not packages.
  const packages = (value: unknown) => new Set([...keysOf(value)].filter((name) => name.includes('/')))
  return new Map([
    ['runtime', packages(manifest.require)],
    ['development', packages(manifest['require-dev'])],
  ])
}

function declaredInPyproject(text: string): Declared {
  const manifest = tomlOf(text)
  const project = tableOf(manifest.project)
  const poetry = tableOf(tableOf(manifest.tool).poetry)
  const runtime = new Set([...listed(project.dependencies), ...keysOf(poetry.dependencies)])
  runtime.delete('python')
  const optional = Object.values(tableOf(project['optional-dependencies'])).flatMap(listed)
  const development = [
    ...Object.values(tableOf(manifest['dependency-groups'])).flatMap(listed),
    ...keysOf(poetry['dev-dependencies']),
    ...Object.values(tableOf(poetry.group)).flatMap((group) => [...keysOf(tableOf(group).dependencies)]),
  ]
  const build = listed(tableOf(manifest['build-system']).requires)
  return new Map([
    ['runtime', runtime],
    ['optional', new Set(optional)],
    ['development', new Set(development)],
    ['build', new Set(build)],
  ])
}

function declaredInCargo(text: string): Declared {
  const manifest = tomlOf(text)
  const places = [manifest, tableOf(manifest.workspace), ...Object.values(tableOf(manifest.target)).map(tableOf)]
  // Cargo also accepts its older names, with an underscore.
  const gather = (key: string) =>
    new Set(
      places.flatMap((place) => [
        ...keysOf(place[key]),
        ...(key.includes('-') ? keysOf(place[key.replace('-', '_')]) : []),
      ]),
    )
  return new Map([
    ['runtime', gather('dependencies')],
    ['development', gather('dev-dependencies')],
    ['build', gather('build-dependencies')],
  ])
}

function tomlOf(text: string): Table {
  return asTable(parseToml(text, { integersAsBigInt: 'asNeeded' }), 'the file')
}

type Table = Readonly<Record<string, unknown>>

function asTable(value: unknown, what: string): Table {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Table
  throw new Error(`${what} is not a table of fields`)
}

/** A section. Some programs write an empty section as null or as an empty list. */
function tableOf(value: unknown): Table {
  const isEmpty = value === undefined || value === null || (Array.isArray(value) && value.length === 0)
  return isEmpty ? {} : asTable(value, 'a section')
}

function keysOf(value: unknown): Set<string> {
  return new Set(Object.keys(tableOf(value)))
}

/** Names in a list of requirements such as `requests[socks] >= 2`. An item that is not a text, such as an included group, declares nothing. */
function listed(value: unknown): string[] {
  if (value === undefined) return []
  if (!Array.isArray(value)) throw new Error('a list of dependencies is not a list')
  return value.flatMap((item) =>
    typeof item === 'string' ? [...declaredInRequirements(item).values()].flatMap((names) => [...names]) : [],
  )
}
