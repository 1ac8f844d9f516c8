/** The files of a handler: a function of one message, with a state and a timer. */
import { definition, type WorkerFiles } from './worker-files.ts'

export function handlerFiles(kind: string): WorkerFiles {
  const up = '../'.repeat(kind.split('/').length)
  return {
    message: '5',
    about: [
      `\`workers/${kind}.ts\` is a handler: a function of one message. What it does through \`self\` takes effect together when it returns, or not at all.`,
      '`lib/interval.ts` is a file that it imports: change it while a count goes on.',
      `\`test/${kind}.test.ts\` tests single messages in memory, and a whole run on a real Redis.`,
    ],
    files: {
      [`workers/${kind}.ts`]: worker(up),
      'lib/interval.ts': interval,
      [`test/${kind}.test.ts`]: test(kind, up),
    },
  }
}

const worker = (up: string) => `import { defineWorker } from 'troupe'
import { z } from 'zod'
import { intervalMs } from '${up}lib/interval.ts'

${definition}({
  description: 'Counts to a number, also if its process dies on the way.',
  input: z.coerce.number().int().min(0),
  initial: { at: 0, to: 0 },
  receive(message, self) {
    const { at, to } = message.kind === 'input' ? { at: 0, to: message.value } : { at: self.state.at + 1, to: self.state.to }
    self.log.info(\`\${at} of \${to}\`)
    if (at === to) return self.reply(\`counted to \${to}\`)
    self.setState({ at, to })
    self.after(intervalMs, null)
  },
})
`

const interval = `/** How long the counter waits between two numbers. It waits without holding a slot. */
export const intervalMs = 1_000
`

const test = (kind: string, up: string) => `import assert from 'node:assert/strict'
import { test } from 'node:test'
import { testHandler, testTroupe } from 'troupe/test'
import worker from '${up}workers/${kind}.ts'

test('sets a timer until it has counted', async () => {
  const run = await testHandler(worker, { message: { kind: 'timer' }, state: { at: 1, to: 3 } })
  assert.equal(run.status, 'waits')
  assert.deepEqual(run.state, { at: 2, to: 3 })
})

test('runs on a real Redis', async () => {
  await using troupe = await testTroupe({ workers: { '${kind}': worker } })
  const result = await troupe.run('${kind}', 1)
  assert.deepEqual(result, { status: 'completed', run: 1, value: 'counted to 1' })
})
`
