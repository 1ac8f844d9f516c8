/** The files of an agent with two tools. Without a key it runs on fixed rules, which follow the numbered lines of its instructions. */
import { definition, type WorkerFiles } from './worker-files.ts'

export function agentFiles(kind: string): WorkerFiles {
  const up = '../'.repeat(kind.split('/').length)
  return {
    message: 'What does tea cost?',
    about: [
      `\`workers/${kind}.ts\` is an agent: instructions and tools. Without a key it runs on fixed rules that follow its numbered lines.`,
      '`tools/shop.ts` has its tools. `place_order` is of effect `once`, so a person approves each call: `{"article":"tea","pieces":2}` shows it.',
      `\`test/${kind}.test.ts\` tests it with scripted replies, and on a real Redis.`,
    ],
    files: {
      [`workers/${kind}.ts`]: worker(up),
      'tools/shop.ts': tools,
      [`test/${kind}.test.ts`]: test(kind, up),
    },
  }
}

const worker = (up: string) => `import { defineWorker } from 'troupe'
import { placeOrder, priceList } from '${up}tools/shop.ts'

${definition}({
  description: 'Answers questions about a small shop, and takes orders.',
  instructions: \`You answer the customers of a small shop.
1. Call \\\`price_list\\\`. Never guess a price.
2. If the customer orders something, call \\\`place_order\\\`.\`,
  tools: [priceList, placeOrder],
})
`

const tools = `import { defineTool } from 'troupe'
import { z } from 'zod'

const cents: Record<string, number> = { tea: 320, coffee: 450, sugar: 90 }

export const priceList = defineTool({
  name: 'price_list',
  description: 'The articles of the shop, each with its price in cents.',
  effect: 'pure',
  run: () => cents,
})

export const placeOrder = defineTool({
  name: 'place_order',
  description: 'Orders an article for the customer.',
  effect: 'once', // never repeated, and a person approves each call
  input: z.object({ article: z.string(), pieces: z.number().int().positive() }),
  run({ article, pieces }, { idempotencyKey }) {
    const price = cents[article]
    if (price === undefined) throw new Error(\`there is no \${article}\`)
    // Pass the key on to whoever takes the order: under one key there is one order.
    return { order: idempotencyKey, article, pieces, cents: price * pieces }
  },
})
`

const test = (kind: string, up: string) => `import assert from 'node:assert/strict'
import { test } from 'node:test'
import { call, say, testAgent, testTroupe } from 'troupe/test'
import worker from '${up}workers/${kind}.ts'

test('answers with a price of the list', async () => {
  const run = await testAgent(worker, { input: 'Tea?', replies: [call('price_list', {}), say('320 cents')] })
  assert.match(JSON.stringify(run.reply), /320 cents/)
})

test('waits for a person before it orders', async () => {
  const run = await testAgent(worker, { input: 'Two teas!', replies: [call('place_order', { article: 'tea', pieces: 2 })] })
  assert.equal(run.status, 'waits')
})

test('runs on a real Redis', async () => {
  await using troupe = await testTroupe({ workers: { '${kind}': worker } })
  const result = await troupe.run('${kind}', 'What does tea cost?')
  assert.equal(result.status, 'completed')
  assert.match(JSON.stringify(result), /320/)
})
`
