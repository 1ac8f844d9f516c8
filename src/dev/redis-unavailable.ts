/** What is thrown where no Redis can be had: one sentence for people, which ends with the command to type on this system. */
import { readFile } from 'node:fs/promises'

export class RedisUnavailableError extends Error {
  override readonly name = 'RedisUnavailableError'
}

/** There is a server, but it does not run: with the data of this folder, it may be. */
export class ServerFailedError extends RedisUnavailableError {
  /** What it said last, without its process id and the time. */
  readonly lastWords: string

  /** The sentence has no full stop; the log may be empty. */
  constructor(sentence: string, log: readonly string[]) {
    const end = log.length > 0 ? ` The end of its log:\n${log.map((line) => `  ${line}`).join('\n')}` : ''
    super(`${sentence}.${end}`)
    this.lastWords = [sentence, log.at(-1)?.replace(/^\d+:\w \d+ \w+ \d+ [\d:.]+ \S /, '')].filter(Boolean).join(': ')
  }
}

/** How families of Linux systems (ID and ID_LIKE of os-release) install a Redis or a Valkey. */
const packageCommands: readonly (readonly [results: RegExp, command: string])[] = [
  [/\b(debian|ubuntu)\b/, 'apt-get install redis-server'],
  [/\b(fedora|rhel|centos)\b/, 'dnf install valkey'],
  [/\balpine\b/, 'apk add redis'],
  [/\barch\b/, 'pacman -S valkey'],
  [/\bsuse\b/, 'zypper install redis'],
]

const containerCommand =
  'docker run --rm -p 127.0.0.1:6379:6379 redis:7 (and set TROUPE_REDIS_URL=redis://127.0.0.1:6379)'

/** The command that gives this system a Redis. */
export async function installCommand(): Promise<string> {
  if (process.platform === 'darwin') return 'brew install redis'
  const results = await systemFamily()
  const command = packageCommands.find(([pattern]) => pattern.test(results))?.[1]
  if (!command) return containerCommand
  return process.getuid?.() === 0 ? command : `sudo ${command}`
}

/** The names by which a Linux system says what it is and what it is like; empty elsewhere. */
export async function systemFamily(): Promise<string> {
  const release = await readFile('/etc/os-release', 'utf8').catch(() => '')
  return release
    .split('\n')
    .filter((line) => /^ID(_LIKE)?=/.test(line))
    .join(' ')
}
