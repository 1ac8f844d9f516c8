/** The package as npm would install it: agents of an author who has nothing else, with the offline model and with a provider. */
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import { type RawProvider, rawProvider } from '../../models/support/raw-provider.ts'
import { isLong } from '../../support/fault/fault-settings.ts'
import { newNamespace } from '../../support/namespace.ts'
import { PackedProject } from '../../support/package/packed-project.ts'
import { type FakeSurface, fakeSurfaces, sendEvents } from '../../support/provider/fake-surfaces.ts'

const files = {
  'workers/_tools/words.ts': `import { defineTool } from 'troupe'
import type { Json, ToolContext } from 'troupe'
import { z } from 'zod'

interface Part { readonly text: string }

/** Cuts what the run was asked, and says which workers are to read the pieces. */
export function cutter(by: string, kind: string) {
  return defineTool({
    name: 'cut_text',
    description: 'Cuts the text into pieces for others.',
    effect: 'pure',
    run: (_input, context) => {
      const { text } = context.input as unknown as Part
      return { spawn_workers: { tasks: text.split(by).map((piece) => ({ kind, input: { text: piece } })) } }
    },
  })
}

export const countWords = defineTool({
  name: 'count_words',
  description: 'Counts the words of a text.',
  effect: 'idempotent',
  input: z.object({ text: z.string() }),
  run({ text }, context) {
    const words = text.split(' ').filter(Boolean).length
    context.setFact('words', words)
    context.progress({ words })
    return \`\${words} words\`
  },
})

export const sumUp = defineTool({
  name: 'sum_up',
  description: 'Adds up what the others counted.',
  effect: 'pure',
  run(_input: unknown, context: ToolContext) {
    const words = context.children.reduce((sum, { facts }) => sum + Number(facts.words as Json), 0)
    context.setFact('words', words)
    return \`\${words} words in \${context.children.length} pieces\`
  },
})
`,
  'workers/book.ts': `import { defineWorker } from 'troupe'
import { cutter, sumUp } from './_tools/words.ts'
export default defineWorker({
  description: 'Counts the words of a book.',
  instructions: 'kind=book\\n1. Call \`cut_text\`.\\n2. Call \`spawn_workers\` with its tasks.\\n3. Call \`sum_up\`.',
  tools: [cutter('|', 'chapter'), sumUp],
  spawns: ['chapter'],
})
`,
  'workers/chapter.ts': `import { defineWorker } from 'troupe'
import { cutter, sumUp } from './_tools/words.ts'
export default defineWorker({
  description: 'Counts the words of a chapter.',
  instructions: 'kind=chapter\\n1. Call \`cut_text\`.\\n2. Call \`spawn_workers\` with its tasks.\\n3. Call \`sum_up\`.',
  tools: [cutter(';', 'line'), sumUp],
  spawns: ['line'],
})
`,
  'workers/line.ts': `import { defineWorker } from 'troupe'
import { countWords } from './_tools/words.ts'
export default defineWorker({
  description: 'Counts the words of a line.',
  instructions: () => 'kind=line\\n1. Call \`count_words\` with the text.',
  tools: [countWords],
})
`,
  // A project that builds declarations must be able to name what is inferred.
  'workers/_inferred.ts': `import type { Entry, Health, HistoryItem, Message, ModelReply, PromptMessage } from 'troupe'
import type { RuntimeError, StartNodeOptions, TroupeEvent, UserMessage, Worker, WorkerReport } from 'troupe'

export const textsOf = ({ content }: ModelReply) => content.filter((block) => block.type === 'text')
export const thoughtsOf = ({ content }: ModelReply) => content.filter((block) => block.type === 'reasoning')
export const picturesOf = ({ content }: UserMessage) => content.filter((block) => block.type === 'image')
export const filesOf = ({ content }: UserMessage) => content.filter((block) => block.type === 'file')
export const resultsOf = (message: PromptMessage) => (message.role === 'tool' ? message.results : [])
export const reported = (message: Message) => (message.kind === 'result' && message.status === 'completed' ? message : null)
export const modelsOf = (options: StartNodeOptions) => options.models
export const sendingOf = (...args: Parameters<Worker['send']>) => args[1]
export const pausedOf = (health: Health) => health.pausedWakeups
export const entriesOf = (items: readonly HistoryItem[]) => items.map(({ entry }) => entry)
export const narrowed = (entry: Entry) => {
  if (entry.type === 'received') return entry
  if (entry.type === 'completed') return entry
  if (entry.type === 'delegated') return entry
  return entry.type === 'assistant' ? entry : null
}
export const beginningOf = (event: TroupeEvent) => (event.type === 'run.started' ? event : null)
export const progressOf = (event: TroupeEvent) => (event.type === 'tool.progress' ? event : null)
export const factsOf = (event: TroupeEvent) => {
  if (event.type === 'worker.failed') return event.details.failure.message.length
  if (event.type === 'text.delta') return event.details.text.length
  // @ts-expect-error It has no details.
  if (event.type === 'run.started') return event.details.run.length
  return event.type === 'tool.progress' ? event.details : event.type
}
export const statusOf = (worker: WorkerReport) => worker.status
export const codeOf = (error: RuntimeError) => error.details
`,
  'tsconfig.json': JSON.stringify({
    compilerOptions: {
      module: 'nodenext',
      target: 'es2024',
      lib: ['es2024', 'esnext.disposable'],
      strict: true,
      skipLibCheck: !isLong,
      noEmit: true,
      declaration: true,
      allowImportingTsExtensions: true,
      types: ['node'],
    },
    include: ['workers'],
  }),
}

const book = { text: 'one two;three|four five six;seven eight;nine' }
const [chat] = fakeSurfaces as [FakeSurface]
let project: PackedProject

beforeAll(async () => {
  project = await PackedProject.create({
    TROUPE_REDIS_URL: inject('redisUrl'),
    TROUPE_NAMESPACE: newNamespace(),
  })
  for (const [path, text] of Object.entries(files)) await project.write(path, text)
}, 300_000)
afterAll(() => project?.[Symbol.asyncDispose]())

const run = (env: Record<string, string>, ...more: string[]) =>
  project.troupe(['run', 'book', JSON.stringify(book), ...more], env)

function lastObject(stdout: string): Record<string, unknown> {
  return JSON.parse(stdout.trimEnd().split('\n').at(-1) ?? '') as Record<string, unknown>
}

/** Does the steps that the instructions ask for, one for each answer that is there. */
function script(body: string): string[] {
  const { callIds, results, lastUser } = chat.preview(body)
  const kind = /kind=(\w+)/.exec(body)?.[1] ?? ''
  const call = (name: string, args: unknown) =>
    chat.events({ calls: [{ id: `${name}-1`, name, args: JSON.stringify(args) }] })
  const done = callIds.length
  if (kind === 'line') {
    const text = JSON.parse(lastUser.slice(lastUser.indexOf('{'))) as unknown
    return done === 0 ? call('count_words', text) : chat.events({ text: `This line has ${results[0]?.text}.` })
  }
  if (done === 0) return call('cut_text', {})
  if (done === 1)
    return call('spawn_workers', (JSON.parse(results[0]?.text ?? '') as { spawn_workers: unknown }).spawn_workers)
  if (done === 2) return call('sum_up', {})
  return chat.events({ text: `This ${kind} has ${results[2]?.text}.` })
}

async function withProvider<T>(
  answer: Parameters<typeof rawProvider>[0],
  body: (env: Record<string, string>, provider: RawProvider) => Promise<T>,
): Promise<T> {
  await using provider = await rawProvider(answer)
  return await body({ OPENAI_API_KEY: 'sk-secret-of-the-test', OPENAI_BASE_URL: `${provider.url}/v1` }, provider)
}

describe('the packed package', () => {
  test('the packed package runs two levels of delegation with the offline model', async () => {
    const { code, stdout, stderr } = await run({})
    expect({ code, stderr }).toMatchObject({ code: 0 })
    expect(stdout).toContain("troupe's offline model")
    expect(stdout).toContain('9 words in 2 pieces')
    expect(stderr).toMatch(/book {2}spawned 2 chapter/)
  })

  test('the packed package gives the facts of the tools with --json', async () => {
    const { code, stdout } = await run({}, '--json')
    expect(code).toBe(0)
    expect(lastObject(stdout)).toMatchObject({ type: 'result', status: 'completed', value: { facts: { words: 9 } } })
  })

  test.each([
    ['--model', {}, ['--model', chat.model]],
    ['TROUPE_MODEL', { TROUPE_MODEL: chat.model }, []],
  ] as [string, Record<string, string>, string[]][])(
    'the packed package runs both levels with a provider named by %s',
    async (_how, named, flags) => {
      await withProvider(
        (response, body) => sendEvents(response, script(body)),
        async (env, provider) => {
          const { code, stdout, stderr } = await run({ ...env, ...named }, ...flags)
          expect({ code, stdout, stderr }).toMatchObject({ code: 0, stdout: 'This book has 9 words in 2 pieces.\n' })
          // The root and two chapters ask four times each, five lines twice.
          expect(provider.requests).toHaveLength(3 * 4 + 5 * 2)
          expect(stdout + stderr).not.toContain('sk-secret')
        },
      )
    },
  )

  test('the packed package exits with 1 when the provider refuses, and says which variable to look at', async () => {
    await withProvider(
      (response) => {
        response.writeHead(401).end('{"error":{"message":"no such key: sk-secret-of-the-test"}}')
      },
      async (env) => {
        const { code, stdout, stderr } = await run(env, '--model', chat.model)
        expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
        expect(stderr).toContain('model_refused')
        expect(stderr).toContain('OPENAI_API_KEY')
        expect(stderr).not.toContain('sk-secret')
      },
    )
  })

  test.each([
    ['a provider without its key', ['--model', 'openai/gpt-5'], /OPENAI_API_KEY/],
    ['a model without a provider', ['--model', 'gpt-5'], /provider\/model/],
    ['an unknown provider without its address', ['--model', 'nobody/x'], /NOBODY_BASE_URL/],
  ])('the packed package exits with 2 for %s', async (_what, flags, sentence) => {
    const { code, stdout, stderr } = await run({}, ...flags)
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toMatch(sentence)
    expect(stderr).not.toMatch(/\n\s+at /)
  })

  test('the packed package has types that a strict project can use', async () => {
    await project.link('@types/node')
    await project.link('typescript')
    const seen = await project.node(['node_modules/typescript/bin/tsc', '--project', '.'])
    expect(seen).toMatchObject({ code: 0, stdout: '' })
  })
})
