/** Duty: what Redis was asked about some keys while something ran: also what scripts asked. */
import type { Redis } from '../../src/store/redis.ts'
import { waitUntil } from './wait-until.ts'

export interface Command {
  /** In small letters. */
  readonly name: string
  readonly args: readonly string[]
}

/** The commands of which an argument begins so, in the order in which they were executed. */
export async function commandsNaming(redis: Redis, prefix: string, run: () => Promise<unknown>): Promise<Command[]> {
  const monitor = await redis.duplicate().monitor()
  const seen: Command[] = []
  monitor.on('monitor', (_time: string, [name = '', ...args]: string[]) => {
    if (args.some((arg) => arg.startsWith(prefix))) seen.push({ name: name.toLowerCase(), args })
  })
  try {
    await run()
    // What is told comes in order: behind this all of it is here.
    const end = `${prefix} is watched no more`
    const isEnd = ({ args }: Command) => args[0] === end
    await redis.exists(end)
    await waitUntil('the last command is told', () => seen.some(isEnd))
    return seen.filter((command) => !isEnd(command))
  } finally {
    monitor.disconnect()
  }
}
