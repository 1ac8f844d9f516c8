/** The tarball of a build of the present sources, as npm would pack it. The first test that needs it builds it, for all tests of the run. */
import { execFile } from 'node:child_process'
import { access, cp, mkdir, mkdtemp, readFile, rename, rm, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { inject } from 'vitest'
import { waitUntil } from '../time/wait-until.ts'

const repository = fileURLToPath(new URL('../../..', import.meta.url))
const run = promisify(execFile)
const parts = [
  'src',
  'workers',
  'scripts',
  'package.json',
  'tsconfig.json',
  'tsconfig.build.json',
  'tsconfig.workers.json',
]

/** Resolves with the path of the tarball. */
export async function packedPackage(): Promise<string> {
  const folder = join(inject('folder'), 'packed')
  const [tarball, failure] = [join(folder, 'troupe.tgz'), join(folder, 'failure')]
  const isFirst = await mkdir(folder).then(
    () => true,
    () => false,
  )
  if (isFirst) await build(folder, tarball).catch((error: Error) => writeFile(failure, `${error.stack}`))
  const isThere = (path: string) =>
    access(path).then(
      () => true,
      () => false,
    )
  const outcome = await waitUntil(
    'the package is packed',
    async () => ((await isThere(tarball)) ? tarball : (await isThere(failure)) && failure),
    300_000,
  )
  if (outcome === failure) throw new Error(`The package cannot be packed. ${await readFile(failure, 'utf8')}`)
  return tarball
}

/** A copy is built, because the repository's own dist must stay as it is. */
async function build(folder: string, tarball: string): Promise<void> {
  const copy = await mkdtemp(join(folder, 'copy-'))
  for (const part of parts) await cp(join(repository, part), join(copy, part), { recursive: true })
  await symlink(join(repository, 'node_modules'), join(copy, 'node_modules'), 'junction')
  // The tests of types check the sources.
  await run(process.execPath, ['scripts/build.mjs', '--no-check'], { cwd: copy })
  const packing = ['pack', '--ignore-scripts', '--json', '--offline']
  const { stdout } = await run('npm', packing, { cwd: copy, maxBuffer: 1e8 })
  await rename(join(copy, /"filename":\s*"([^"]+)"/.exec(stdout)?.[1] as string), tarball)
  await rm(copy, { recursive: true })
}
