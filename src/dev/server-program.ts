/**
 * What can be run as a Redis here: a server program of the system, one in a container, or one installed for the purpose.
 * Each turns a place (port, folder, name) into a command; the settings go in by stdin, where nobody else can read them.
 */
import { basename } from 'node:path'
import { findProgram, findPrograms, type ProgramResult, runProgram } from './program.ts'

export type ServerOrigin = 'local server' | 'container' | 'installed server'

export interface ServerPlace {
  readonly port: number
  readonly password: string
  /** Holds the data. */
  readonly folder: string
  /** Survives the server: an append-only file, and in a container a volume of this name. Absent: a throw-away server. */
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
  /** There is one, and `why` it will not do: "redis-server 5.0.7 is too old (6.2 or later is needed)". */
  | { readonly kind: 'unfit'; readonly why: string }
  | { readonly kind: 'none' }

/** BullMQ and our scripts need it. */
const versionMin = [6, 2] as const
export const versionMinText = versionMin.join('.')
const versionMsMax = 5_000
/** Reading a large append-only file takes its time. */
const localReadyMsMax = 60_000

/** Looks for a server program on the search path. One that will not do may stand in front of one that will. */
export async function findLocalServer(path: string, how: ServerOrigin = 'local server'): Promise<LocalServer> {
  let unfit: string | undefined
  for await (const file of findPrograms(['redis-server', 'valkey-server'], path)) {
    const said = await runProgram(file, ['--version'], versionMsMax)
    const version = serverVersion(said)
    if (!version) {
      unfit ??= `${file} does not tell its version (${said.output.split('\n').at(-1) || 'it says nothing'})`
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

/** The settings of every server we start, as lines of redis.conf. `where` says how it is reached and where its data is. */
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

/** A string of redis.conf, whose lines end at a newline, quoted or not. */
function quoted(text: string): string {
  const hex = (control: string) => `\\x${control.charCodeAt(0).toString(16).padStart(2, '0')}`
  return `"${text.replace(/[\\"]/g, '\\$&').replace(/[\u0000-\u001f\u007f]/g, hex)}"`
}

/**
 * Binds a command to its parent's life: the kernel ends it when the parent, our guard, is killed with SIGKILL.
 * Linux only; elsewhere a server that survived its guard is found and ended by the next one that starts in its folder.
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
