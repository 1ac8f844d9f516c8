/**
 * Duty: find programs that can run a Redis here: a server program of the system, one in a container, or one that was installed for this.
 * Each of them turns a place (port, folder, name) into a command. Settings are passed on stdin, where no other user can read them.
 */
import { basename } from 'node:path'
import { findProgram, findPrograms, type ProgramResult, runProgram } from './program.ts'

export type ServerOrigin = 'local server' | 'container' | 'installed server'

export interface ServerPlace {
  readonly port: number
  readonly password: string
  /** The folder for the data. */
  readonly folder: string
  /** If set, the data survives the server: in an append-only file, and in a container in a volume of this name. Absent: a throw-away server. */
  readonly volume?: string | undefined
}

export interface ServerCommand {
  readonly command: string
  readonly args: readonly string[]
  readonly input: string
}

export interface ServerProgram {
  readonly how: ServerOrigin
  /** For people: "redis-server 7.0.15". */
  readonly name: string
  readonly readyMsMax: number
  commandAt(place: ServerPlace): ServerCommand
}

export type LocalServer =
  | { readonly kind: 'found'; readonly program: ServerProgram }
  /** There is one that cannot be used. `why`: "redis-server 5.0.7 is too old (6.2 or later is needed)". */
  | { readonly kind: 'unfit'; readonly why: string }
  | { readonly kind: 'none' }

/** The oldest version with which BullMQ and our scripts work. */
const versionMin = [6, 2] as const
export const versionMinText = versionMin.join('.')
const versionMsMax = 5_000
/** Reading a large append-only file takes long. */
const localReadyMsMax = 60_000

/** Looks for a server program on the search path. A program that cannot be used may come before one that can. */
export async function findLocalServer(path: string, how: ServerOrigin = 'local server'): Promise<LocalServer> {
  let unfit: string | undefined
  for await (const file of findPrograms(['redis-server', 'valkey-server'], path)) {
    const result = await runProgram(file, ['--version'], versionMsMax)
    const version = serverVersion(result)
    if (!version) {
      unfit ??= `${file} does not print its version (${result.output.split('\n').at(-1) || 'it prints nothing'})`
      continue
    }
    const name = `${basename(file)} ${version.join('.')}`
    if (!isRecent(version)) {
      unfit ??= `${name} is too old (${versionMinText} or later is needed)`
      continue
    }
    const bound = await boundToParent(path)
    const program: ServerProgram = {
      how,
      name,
      readyMsMax: localReadyMsMax,
      commandAt(place) {
        const where = ['bind 127.0.0.1', `port ${place.port}`, `dir ${quoted(place.folder)}`]
        return { ...bound(file, ['-']), input: settings(place, where) }
      },
    }
    return { kind: 'found', program }
  }
  return unfit ? { kind: 'unfit', why: unfit } : { kind: 'none' }
}

/** The settings of every server that we start, as lines of redis.conf. `where`: the lines for its address and its data. */
export function settings(
  { password, volume }: Pick<ServerPlace, 'password' | 'volume'>,
  where: readonly string[],
): string {
  const lines = [
    ...where,
    'protected-mode yes',
    'save ""',
    'maxmemory-policy noeviction',
    ...(password ? [`requirepass ${password}`] : []),
    ...(volume ? ['appendonly yes', 'appendfsync everysec'] : ['appendonly no']),
  ]
  return lines.map((line) => `${line}\n`).join('')
}

/** A string for redis.conf. A newline would end the line even within quotes, so control characters are escaped. */
function quoted(text: string): string {
  const hex = (control: string) => `\\x${control.charCodeAt(0).toString(16).padStart(2, '0')}`
  return `"${text.replace(/[\\"]/g, '\\$&').replace(/[\u0000-\u001f\u007f]/g, hex)}"`
}

/**
 * Binds a command to the life of its parent: the kernel ends it when the parent, our guard, is killed with SIGKILL. Linux only. On other
 * systems, the next server that starts in the folder finds a server that survived its guard, and ends it.
 */
export async function boundToParent(
  path: string,
): Promise<(file: string, args: readonly string[]) => Omit<ServerCommand, 'input'>> {
  const setpriv = process.platform === 'linux' ? await findProgram(['setpriv'], path) : undefined
  const words = ['--pdeathsig', 'TERM']
  if (!setpriv || !(await runProgram(setpriv, [...words, setpriv, '--version'], versionMsMax)).ok) {
    return (command, args) => ({ command, args })
  }
  return (file, args) => ({ command: setpriv, args: [...words, file, ...args] })
}

/** "Redis server v=7.0.15 sha=…" and "Valkey server v=8.1.1 sha=…". */
function serverVersion({ ok, output }: ProgramResult): readonly number[] | undefined {
  const found = ok ? /v=(\d+)\.(\d+)\.(\d+)/.exec(output) : null
  return found?.slice(1).map(Number)
}

function isRecent([major = 0, minor = 0]: readonly number[]): boolean {
  return major > versionMin[0] || (major === versionMin[0] && minor >= versionMin[1])
}
