/**
 * Duty: what Redis was asked about some keys while something ran: also what scripts asked.
 * Over a socket of its own: a client of ioredis fails when others are busy while it begins to watch.
 */
import { connect } from 'node:net'
import { createInterface } from 'node:readline'
import type { Redis } from 'ioredis'
import { waitUntil } from '../time/wait-until.ts'

export interface Command {
  /** In small letters. */
  readonly name: string
  readonly args: readonly string[]
}

/** The commands with an argument that begins with this text, in the order of their execution. */
export async function commandsNaming(redis: Redis, prefix: string, run: () => Promise<unknown>): Promise<Command[]> {
  const { host = '127.0.0.1', port = 6379, username, password } = redis.options
  const socket = connect({ host, port })
  try {
    const lines: string[] = []
    createInterface({ input: socket }).on('line', (line) => lines.push(line))
    if (password) socket.write(`AUTH ${username ?? 'default'} ${password}\r\n`)
    socket.write('MONITOR\r\n')
    // MONITOR reports in order: commands sent before it began come before the first mark, and all later ones before the second.
    const isTold = (mark: string) => lines.some((line) => line.includes(mark))
    await waitUntil('commands are told', async () => {
      await redis.exists(`${prefix} begins`)
      return isTold(`${prefix} begins`)
    })
    const begun = lines.length
    await run()
    await redis.exists(`${prefix} ends`)
    await waitUntil('the last command is told', () => isTold(`${prefix} ends`))
    return lines
      .slice(begun)
      .map(parseLine)
      .filter(({ args }) => args.some((arg) => arg.startsWith(prefix) && !/ (?:begins|ends)$/.test(arg)))
  } finally {
    socket.destroy()
  }
}

/** `+1700000000.000000 [0 127.0.0.1:35488] "hmget" "key" "field"` */
function parseLine(line: string): Command {
  const [name = '', ...args] = [...line.matchAll(/"((?:[^"\\]|\\.)*)"/g)].map(([, word]) => word as string)
  return { name: name.toLowerCase(), args }
}
