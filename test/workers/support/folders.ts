/** Duty: folders for the tests: made and taken away, a nasty one among them, and what `find` and `wc` say about a folder. */
import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, realpathSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'

type Clean = (work: () => void) => void

/** An empty folder, gone after the test, or when `clean` does what it is given. */
export function temporaryFolder(clean: Clean = onTestFinished): string {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'troupe-survey-')))
  // `rm` gets into folders whose path is too long for a call.
  clean(() => void spawnSync('rm', ['-rf', folder]))
  return folder
}

/** Files by their path; a Buffer as name part is a name of bytes. */
export function write(folder: string, files: Readonly<Record<string, string | Buffer>>): string {
  for (const [path, content] of Object.entries(files)) {
    const file = join(folder, path)
    mkdirSync(join(file, '..'), { recursive: true })
    writeFileSync(file, content)
  }
  return folder
}

export function bytesOf(folder: string, name: readonly number[]): Buffer {
  return Buffer.concat([Buffer.from(`${folder}/`), Buffer.from(name)])
}

/** All that the names, sorts and shapes of a folder may be. */
export async function nastyFolder(clean: Clean): Promise<string> {
  const folder = temporaryFolder(clean)
  const outside = temporaryFolder(clean)
  write(outside, { 'secret.ts': 'secret\n'.repeat(1_000) })
  write(folder, {
    'README.md': '# Title\n\nTODO: write\n',
    'no newline at end': 'abc',
    empty: '',
    'new\nline\n.ts': 'let a = 1 // TODO one\nlet b // FIXME(two) x\n',
    ' leading and trailing ': '\n',
    'tab\tand\\backslash|pipe`tick': '\n\n',
    '-rf': '\n',
    'ünïcödé/文件.py': '# TODO 文\n',
    '.hidden/file.json': '{}\n',
    'binary.bin': Buffer.from([0, 10, 10, 255, 10]),
    'big.txt': 'line\n'.repeat(300_000),
    'one long line.js': `${'x'.repeat(700_000)} TODO at the end`,
    'package.json': '{"dependencies":{"a":"1"},"devDependencies":{"b":"1","c":"1"}}',
    'broken/package.json': '{"dependencies":',
    'node_modules/x/package.json': '{"dependencies":{"hidden":"1"}}',
    'node_modules/x/index.js': '// TODO of others\n',
    '.troupe/redis.rdb': 'own data\n'.repeat(10),
    'sub/.troupe/file': 'not its own\n',
    'copies/one': 'the same\n',
    'copies/two': 'the same\n',
    'copies/three': 'the Same\n',
  })
  mkdirSync(join(folder, 'empty folder/empty too'), { recursive: true })
  writeFileSync(bytesOf(folder, [0xff, 0xfe, 0x0a, 0x41]), 'not UTF-8\n')
  mkdirSync(bytesOf(folder, [0xc3]))
  writeFileSync(Buffer.concat([bytesOf(folder, [0xc3]), Buffer.from('/inside.rs')]), 'fn main() {}\n')
  mkdirSync(join(folder, 'many'))
  for (let index = 0; index < 5_000; index++)
    writeFileSync(join(folder, 'many', `file ${index}`), `${index}\n`.repeat(index % 4))
  for (let index = 0; index < 60; index++) write(folder, { [`wide/${index}/a/b/c.ts`]: `// ${index}\n`.repeat(index) })
  write(folder, { [`${'deep/'.repeat(60)}file.c`]: 'int x;\n' })
  links(folder, outside)
  makeFifo(join(folder, 'fifo'))
  await socketAt(join(folder, 'socket'), clean)
  return folder
}

function links(folder: string, outside: string): void {
  symlinkSync(outside, join(folder, 'out'))
  symlinkSync(join(outside, 'secret.ts'), join(folder, 'out.ts'))
  symlinkSync('.', join(folder, 'loop'))
  symlinkSync('..', join(folder, 'sub/up'))
  symlinkSync('README.md', join(folder, 'in.md'))
  symlinkSync('nowhere', join(folder, 'dangling'))
  symlinkSync('itself', join(folder, 'itself'))
}

export function makeFifo(path: string): void {
  spawnSync('bash', ['--norc', '-c', 'mkfifo "$1"', 'bash', path])
}

async function socketAt(path: string, clean: Clean): Promise<void> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(path, resolve))
  clean(() => void server.close())
}

/** What can only be made name by name: a path longer than any call takes. */
export function tooDeep(folder: string, depth: number): void {
  const name = 'd'.repeat(200)
  const script = `cd "$1" && for i in $(seq ${depth}); do mkdir ${name} && cd ${name} && echo x > f || exit 1; done`
  const { status, stderr } = spawnSync('bash', ['--norc', '-c', script, 'bash', folder], { encoding: 'utf8' })
  if (status !== 0) throw new Error(stderr)
}

export interface FoundTotals {
  readonly files: number
  readonly bytes: number
  readonly lines: number
}

/** Without `.troupe` directly in the folder. */
export function findTotals(folder: string): FoundTotals {
  const shell = (script: string) =>
    spawnSync('bash', ['--norc', '-c', `cd "$1" && ${script}`, 'bash', folder], {
      encoding: 'utf8',
      maxBuffer: 1 << 28,
    }).stdout
  const files = 'find . -path ./.troupe -type d -prune -o -type f'
  const sizes = shell(`${files} -printf '%s\\n'`).trim().split('\n').filter(Boolean).map(Number)
  const lines = Number(shell(`${files} -exec cat {} + 2>/dev/null | wc -l`))
  return { files: sizes.length, bytes: sizes.reduce((sum, size) => sum + size, 0), lines }
}
