/**
 * Runs command lines of troupe one after the other in one process, for commands that look, ask or are refused: starting a process takes
 * longer than what they do. Whatever is about the process itself (signals, worker files, pipes that break) needs a process of its own.
 */
import { runCommandLine } from '../../src/cli/program.ts'
import { keepCompiled } from '../support/package/shared-env.ts'

export interface CommandOrder {
  readonly id: number
  readonly args: readonly string[]
}

export interface CommandEnd {
  readonly id: number
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

let last = Promise.resolve()
process.on('message', (order: CommandOrder) => {
  last = last.then(() => run(order))
})
process.on('disconnect', () => process.exit(0))

async function run({ id, args }: CommandOrder): Promise<void> {
  const [stdout, stderr] = [capture(process.stdout), capture(process.stderr)]
  process.exitCode = undefined
  const code = await runCommandLine(args)
  process.send?.({ id, code, stdout: stdout.end(), stderr: stderr.end() } satisfies CommandEnd)
  keepCompiled()
}

function capture(stream: NodeJS.WriteStream): { end(): string } {
  // oxlint-disable-next-line typescript/unbound-method -- it is only put back
  const { write } = stream
  let text = ''
  stream.write = (part: string | Uint8Array) => {
    text += typeof part === 'string' ? part : Buffer.from(part).toString()
    return true
  }
  return {
    end() {
      stream.write = write
      return text
    },
  }
}
