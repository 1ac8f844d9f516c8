/** Each guard of the agent runtime is held by a check: without the guard, that check goes red. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { RedisServer } from '../support/redis/redis-server.ts'
import * as checks from './agent-checks.ts'
import { type Change, SourceCopy } from './source-copy.ts'

interface AgentMutant extends Change {
  readonly guard: string
  readonly check: keyof typeof checks
}

const localCalls = 'src/runtime/agent/call/local/local-calls.ts'
const approvals = 'src/runtime/agent/call/person/approvals.ts'
const think = 'src/runtime/agent/think.ts'
const fold = 'src/core/history/prompt/prompt-fold.ts'

const mutants: readonly AgentMutant[] = [
  {
    guard: 'a reply is recorded before its tools run',
    file: think,
    from: 'journal.add([entry, ...results], parts)',
    to: 'journal.add([entry, ...results], parts, { lazy: true })',
    check: 'aReplyIsRecordedBeforeItsToolsRun',
  },
  {
    guard: 'an idempotent tool waits for the acknowledgement',
    file: localCalls,
    from: "else if (tool.effect !== 'pure') await turn.settled()",
    to: '',
    check: 'aReplyIsRecordedBeforeItsToolsRun',
  },
  {
    guard: 'a once tool waits for the acknowledgement',
    file: localCalls,
    from: 'await startRecorded(turn)',
    to: 'await turn.pausing.beginning(Promise.resolve())',
    check: 'aOnceToolIsRecordedAsStarted',
  },
  {
    guard: 'a once tool is recorded as started',
    file: localCalls,
    from: "journal.add([journal.entry('toolStarted', { toolCallId, toolName })], {",
    to: 'journal.add([], {',
    check: 'aOnceToolIsRecordedAsStarted',
  },
  {
    guard: 'a model call waits until all before it is settled',
    file: think,
    from: '  if (!turn.isSettled) await turn.settled()\n',
    to: '',
    check: 'aModelCallFollowsWhatIsRecorded',
  },
  {
    guard: 'ids of calls are unique in a reply',
    file: 'src/runtime/agent/reply/reply.ts',
    from: 'seen.has(id) || ',
    to: '',
    check: 'aRepeatedCallIdIsRenamed',
  },
  {
    guard: 'ids of calls are unique in a history',
    file: 'src/runtime/agent/reply/reply.ts',
    from: ' || history.hasCall(id)',
    to: '',
    check: 'aRepeatedCallIdIsRenamed',
  },
  {
    guard: 'ids made for calls differ from those of the model',
    file: 'src/runtime/agent/reply/reply.ts',
    from: "while (isTaken(id)) id += '_'",
    to: '',
    check: 'aMadeCallIdIsNoneThatWasGiven',
  },
  {
    guard: 'results of no call stay out of prompts',
    file: fold,
    from: 'const slot = slots?.shift()',
    to: 'const slot = slots?.shift() ?? this.#slots[0]',
    check: 'aResultOfNoCallIsLeftOut',
  },
  {
    guard: 'facts stay out of prompts',
    file: fold,
    from: '#addResult({ toolCallId, output }: ToolResultMessage): void {',
    to: "#addResult({ toolCallId, output: said, facts }: ToolResultMessage): void {\n    const output: ToolOutput = facts ? { type: 'json', value: { said, facts } as never } : said",
    check: 'aFactIsNeverShownToTheModel',
  },
  {
    guard: 'no call of a reply runs before all are decided',
    file: approvals,
    from: "all.some(({ standing }) => standing.kind === 'waits')",
    to: 'false',
    check: 'nothingRunsBeforeAllIsDecided',
  },
  {
    guard: 'an approved call is compared with what was approved',
    file: approvals,
    from: "if (approval?.status !== 'approved' || approval.isReleased) return true",
    to: 'return true',
    check: 'whatRunsIsWhatWasApproved',
  },
  {
    guard: 'a denial denies all calls of the reply',
    file: approvals,
    from: 'refuse(agentTurn, runsOthers ? denied : all)',
    to: 'refuse(agentTurn, denied)',
    check: 'aDenialDeniesTheReply',
  },
  {
    guard: 'what a hook decides about a call is recorded before the call runs',
    file: 'src/runtime/agent/call/decide-calls.ts',
    from: "journal.add([journal.entry('callsDecided', { calls: decisions })])",
    to: "journal.add([journal.entry('callsDecided', { calls: decisions })], {}, { lazy: true })",
    check: 'aDecisionIsRecordedBeforeItsToolRuns',
  },
  {
    guard: 'a call whose check failed is refused',
    file: 'src/runtime/agent/call/decide-calls.ts',
    from: 'return { toolCallId, refused: uncheckedText(toolName, end.error.message) }',
    to: 'return decision',
    check: 'aCallWhoseCheckFailedDoesNotRun',
  },
  {
    guard: 'what a processor decides is recorded before the model is asked',
    file: 'src/runtime/agent/hook/prepare.ts',
    from: '[hooked, textEntry(journal, text, 1)])',
    to: '[hooked, textEntry(journal, text, 1)], {}, { lazy: true })',
    check: 'aProcessorIsRecordedBeforeTheModelIsAsked',
  },
  {
    guard: 'a step of a recipe is recorded as started before it runs',
    file: 'src/runtime/agent/call/local/recipe-calls.ts',
    from: 'await startRecorded(turn)',
    to: 'await turn.pausing.beginning(Promise.resolve())',
    check: 'aStepOfARecipeIsRecordedAsStarted',
  },
]

let server: RedisServer
beforeAll(async () => {
  // The test has a Redis of its own, because its writes are held up.
  server = await RedisServer.start({ durability: 'none' })
})
afterAll(async () => {
  await server[Symbol.asyncDispose]()
})

test.each(Object.entries(checks))('the check is green with all guards there: %s', async (_name, check) => {
  await expect(check(server.url)).resolves.toBeUndefined()
})

// `npm run mutants` reads these titles.
for (const { guard, check, ...change } of mutants) {
  test(`without its guard a test goes red: ${guard} [${check}]`, async () => {
    await using copy = await SourceCopy.make('test/mutants/agent-checks.ts', [change])
    const copied = (await copy.import()) as unknown as typeof checks
    const red = await copied[check](server.url).then(
      () => null,
      (error: unknown) => error,
    )
    expect(red).toMatchObject({ name: 'AssertionError' })
  })
}
