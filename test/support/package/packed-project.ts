/**
 * An empty folder into which the package was installed as npm would: the tarball of a build of the present sources, and of everything
 * else only what package.json declares as dependencies.
 */
import { execFile, spawn } from 'node:child_process'
import { mkdir, mkdtemp, readFile, realpath, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { packedPackage } from './packed-package.ts'
import { sharedEnv } from './shared-env.ts'

const repository = fileURLToPath(new URL('../../..', import.meta.url))
const run = promisify(execFile)

export interface CommandEnd {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

export class PackedProject implements AsyncDisposable {
  readonly folder: string
  readonly #env: Readonly<Record<string, string>>

  private constructor(folder: string, env: Readonly<Record<string, string>>) {
    this.folder = folder
    this.#env = env
  }

  static async create(env: Readonly<Record<string, string>>): Promise<PackedProject> {
    const folder = await realpath(await mkdtemp(join(tmpdir(), 'troupe-packed-')))
    const project = new PackedProject(join(folder, 'project'), env)
    const modules = join(project.folder, 'node_modules')
    await mkdir(join(modules, 'troupe'), { recursive: true })
    await run('tar', ['-xzf', await packedPackage(), '--strip-components=1', '-C', join(modules, 'troupe')])
    const manifest = JSON.parse(await readFile(join(modules, 'troupe', 'package.json'), 'utf8')) as {
      dependencies: Record<string, string>
    }
    for (const name of Object.keys(manifest.dependencies)) await project.#link(name)
    await project.write('package.json', '{ "type": "module", "private": true }')
    return project
  }

  /** Makes one more package of the repository known here. */
  async link(name: string): Promise<void> {
    await this.#link(name)
  }

  async #link(name: string): Promise<void> {
    const place = join(this.folder, 'node_modules', name)
    await mkdir(dirname(place), { recursive: true })
    await symlink(join(repository, 'node_modules', name), place, 'junction')
  }

  async write(path: string, text: string): Promise<void> {
    await mkdir(dirname(join(this.folder, path)), { recursive: true })
    await writeFile(join(this.folder, path), text)
  }

  /** The folder in which the package was installed. */
  get package(): string {
    return join(this.folder, 'node_modules', 'troupe')
  }

  /** Runs `troupe …` to its end. */
  troupe(args: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<CommandEnd> {
    return this.node([join('node_modules', 'troupe', 'dist', 'cli', 'main.js'), ...args], env)
  }

  /** A process in a folder below the project. */
  start(args: readonly string[], env: Readonly<Record<string, string>> = {}, folder = '.') {
    const { PATH = '', HOME = '' } = process.env
    return spawn(process.execPath, args, {
      cwd: join(this.folder, folder),
      env: { PATH, HOME, ...sharedEnv(), ...this.#env, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
  }

  node(args: readonly string[], env: Readonly<Record<string, string>> = {}, folder = '.'): Promise<CommandEnd> {
    const child = this.start(args, env, folder)
    let [stdout, stderr] = ['', '']
    child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text))
    child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text))
    return new Promise((resolve, reject) => {
      child.once('error', reject)
      child.once('close', (code) => resolve({ code, stdout, stderr }))
    })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await rm(dirname(this.folder), { recursive: true, force: true })
  }
}
