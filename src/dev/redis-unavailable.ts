/** Duty: the error for a missing Redis: one sentence for people, which ends with the command that installs one on this system. */
import { readFile } from 'node:fs/promises'

export class RedisUnavailableError extends Error {
  override readonly name = 'RedisUnavailableError'
}

/** There is a server program, but it does not run. The data in its folder may be the reason. */
export class ServerFailedError extends RedisUnavailableError {
  /** The sentence and the last line of the server's log, without process id and time. */
  readonly summary: string

  /** `sentence` must not end with a full stop. `log` may be empty. */
  constructor(sentence: string, log: readonly string[]) {
    const end = log.length > 0 ? ` The end of its log:\n${log.map((line) => `  ${line}`).join('\n')}` : ''
    super(`${sentence}.${end}`)
    this.summary = [sentence, log.at(-1)?.replace(/^\d+:\w \d+ \w+ \d+ [\d:.]+ \S /, '')].filter(Boolean).join(': ')
  }
}

/** The command that installs a Redis or a Valkey, by group of Linux systems (ID and ID_LIKE of os-release). */
const packageCommands: readonly (readonly [system: RegExp, command: string])[] = [
  [/\b(debian|ubuntu)\b/, 'apt-get install redis-server'],
  [/\b(fedora|rhel|centos)\b/, 'dnf install valkey'],
  [/\balpine\b/, 'apk add redis'],
  [/\barch\b/, 'pacman -S valkey'],
  [/\bsuse\b/, 'zypper install redis'],
]

const containerCommand =
  'docker run --rm -p 127.0.0.1:6379:6379 redis:7 (and set TROUPE_REDIS_URL=redis://127.0.0.1:6379)'

/** The command that installs a Redis on this system. */
export async function installCommand(): Promise<string> {
  if (process.platform === 'darwin') return 'brew install redis'
  const system = await systemIds()
  const command = packageCommands.find(([pattern]) => pattern.test(system))?.[1]
  if (!command) return containerCommand
  return process.getuid?.() === 0 ? command : `sudo ${command}`
}

/** The lines of os-release that name this Linux system and similar ones. Empty on other systems. */
export async function systemIds(): Promise<string> {
  const release = await readFile('/etc/os-release', 'utf8').catch(() => '')
  return release
    .split('\n')
    .filter((line) => /^ID(_LIKE)?=/.test(line))
    .join(' ')
}
