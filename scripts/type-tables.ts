/**
 * Duty: reads the members of an interface or a class, with their doc comments, and makes the tables of docs/reference/ of them.
 * It reads lines, not syntax: the formatter keeps each member of a declaration at one indentation.
 * TYPES-1 Every member has a meaning: its doc comment, or a line of `meanings` here. A member without one is an error.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { table } from './markdown-table.ts'

const root = fileURLToPath(new URL('..', import.meta.url))

interface Member {
  readonly name: string
  readonly type: string
  readonly comment: string
}

const definitions = 'src/core/definition'

/** The declarations that each page shows, each in a block of its name. */
const pages: Readonly<Record<string, readonly (readonly [file: string, declaration: string])[]>> = {
  'docs/reference/definitions.md': [
    [`${definitions}/define-worker.ts`, 'HandlerFields'],
    [`${definitions}/run-limits.ts`, 'ConcurrencySettings'],
    [`${definitions}/run-limits.ts`, 'RateSettings'],
    [`${definitions}/retry-settings.ts`, 'RetrySettings'],
    [`${definitions}/worker-identity.ts`, 'WorkerIdentity'],
    [`${definitions}/define-worker.ts`, 'Self'],
    [`${definitions}/define-worker.ts`, 'SpawnOptions'],
    [`${definitions}/on-cancel.ts`, 'AgentCancelSelf'],
    [`${definitions}/on-cancel.ts`, 'CancelSelf'],
    [`${definitions}/define-worker.ts`, 'AskOptions'],
    ['src/core/worker/message/message.ts', 'InputMessage'],
    ['src/core/worker/message/message.ts', 'ReportedChild'],
    ['src/core/worker/message/message.ts', 'TimerMessage'],
    ['src/core/worker/message/message.ts', 'AnswerMessage'],
    [`${definitions}/agent/define-agent.ts`, 'AgentWorker'],
    [`${definitions}/tool/call-settings.ts`, 'CallSettings'],
    [`${definitions}/agent/define-agent.ts`, 'AgentLimits'],
    [`${definitions}/child-limits.ts`, 'ChildLimits'],
    [`${definitions}/agent/define-agent.ts`, 'AgentSelf'],
    [`${definitions}/agent/approval-rules.ts`, 'ApprovalRules'],
    [`${definitions}/agent/compaction-settings.ts`, 'CompactionSettings'],
    [`${definitions}/agent/long-results.ts`, 'LongResults'],
    [`${definitions}/agent/context-settings.ts`, 'ContextSettings'],
    [`${definitions}/agent/iteration-context.ts`, 'IterationContext'],
    [`${definitions}/agent/iteration-context.ts`, 'HookSelf'],
    [`${definitions}/tool/define-tool.ts`, 'ToolDefinition'],
    [`${definitions}/tool/define-tool.ts`, 'ToolContext'],
    [`${definitions}/tool/define-tool.ts`, 'Workspace'],
    [`${definitions}/agent/agent-hooks.ts`, 'AgentHooks'],
    [`${definitions}/agent/processors.ts`, 'ProcessorSelf'],
    [`${definitions}/agent/agent-hooks.ts`, 'CallToCheck'],
    [`${definitions}/agent/agent-hooks.ts`, 'AnswerToCheck'],
    [`${definitions}/agent/tool-resolver.ts`, 'ToolResolver'],
    [`${definitions}/tool/recipe.ts`, 'RecipePlan'],
    [`${definitions}/tool/recipe.ts`, 'RecipeStep'],
    [`${definitions}/tool/recipe.ts`, 'RecipeParts'],
  ],
  'docs/reference/client.md': [
    ['src/client/connect-options.ts', 'ConnectOptions'],
    ['src/client/client.ts', 'Troupe'],
    ['src/client/session/sessions.ts', 'Sessions'],
    ['src/client/submission/submission.ts', 'CreateSession'],
    ['src/client/submission/approval-options.ts', 'ApprovalOptions'],
    ['src/core/worker/turn-share.ts', 'TurnShare'],
    ['src/client/session/sessions.ts', 'CreateOptions'],
    ['src/client/session/session.ts', 'Session'],
    ['src/client/session/run/run.ts', 'Run'],
    ['src/client/worker.ts', 'Worker'],
    ['src/client/worker.ts', 'SendOptions'],
    ['src/client/queries.ts', 'ResultQuery'],
    ['src/client/session/session-events.ts', 'EventsQuery'],
    ['src/client/session/run/retry.ts', 'RetryQuery'],
    ['src/client/session/fork.ts', 'ForkSession'],
    ['src/client/who-and-why.ts', 'PauseOptions'],
    ['src/client/queries.ts', 'SessionsQuery'],
    ['src/client/queries.ts', 'WorkersQuery'],
    ['src/client/queries.ts', 'HistoryQuery'],
    ['src/client/queries.ts', 'MailboxQuery'],
    ['src/client/queries.ts', 'ContextQuery'],
    ['src/client/session/conversation/branches.ts', 'ForkQuery'],
    ['src/client/session/conversation/amend.ts', 'UndoQuery'],
    ['src/client/session/conversation/amend.ts', 'AmendQuery'],
    ['src/client/session/conversation/orders.ts', 'CompactQuery'],
    ['src/client/session/conversation/orders.ts', 'ConfigureQuery'],
    ['src/core/worker/message/configuration.ts', 'Configuration'],
    ['src/client/queries.ts', 'NodesQuery'],
    ['src/client/fleet/node-handle.ts', 'NodeHandle'],
    ['src/client/fleet/pools.ts', 'Pools'],
    ['src/client/queries.ts', 'PoolsQuery'],
    ['src/client/fleet/partition-list.ts', 'Partitions'],
    ['src/client/event/fleet-events.ts', 'FleetQuery'],
    ['src/client/event/fleet-events.ts', 'FleetEvent'],
    ['src/client/usage.ts', 'UsageQuery'],
    ['src/client/person/approvals.ts', 'Approvals'],
    ['src/client/person/approvals.ts', 'Decide'],
    ['src/client/person/asks.ts', 'Asks'],
    ['src/client/queries.ts', 'AsksQuery'],
    ['src/client/person/asks.ts', 'AnswerOptions'],
    ['src/client/queries.ts', 'PruneQuery'],
    ['src/client/queries.ts', 'DeadLettersQuery'],
    ['src/client/queries.ts', 'LettersQuery'],
    ['src/client/queries.ts', 'RedriveQuery'],
    ['src/client/queries.ts', 'AuditQuery'],
    ['src/client/webhook/webhooks.ts', 'Webhooks'],
    ['src/client/webhook/webhook.ts', 'AddWebhook'],
    ['src/client/webhook/webhook.ts', 'RotateWebhook'],
    ['src/client/webhook/webhook.ts', 'DeliveriesQuery'],
    ['src/compose.ts', 'StartNodeOptions'],
    ['src/core/definition/model.ts', 'ModelSettings'],
    ['src/core/definition/model.ts', 'ModelPrice'],
    ['src/notify/result-teller.ts', 'WebhookSettings'],
    ['src/runtime/node/running-node.ts', 'TroupeNode'],
  ],
  'docs/api.md': [
    ['src/api/api.ts', 'StartApiOptions'],
    ['src/http/client.ts', 'HttpOptions'],
    ['src/http/follow.ts', 'FollowOptions'],
  ],
}

/** The shapes of what `--json` prints. Names of fields say most of it, so that a field needs no comment here. */
const shapes: readonly (readonly [file: string, declaration: string])[] = [
  ['src/client/session/session-summary.ts', 'SessionFacts'],
  ['src/client/report.ts', 'SessionReport'],
  ['src/client/report.ts', 'WorkerReport'],
  ['src/core/worker/run/usage.ts', 'UsageReport'],
  ['src/core/worker/run/cost.ts', 'Cost'],
  ['src/client/usage.ts', 'UsageRow'],
  ['src/core/history/agent-result.ts', 'AgentResult'],
  ['src/client/worker.ts', 'HistoryItem'],
  ['src/client/person/asks.ts', 'Ask'],
  ['src/client/person/approvals.ts', 'Approval'],
  ['src/client/webhook/webhook.ts', 'Webhook'],
  ['src/notify/delivery-queue.ts', 'DeliveryRow'],
  ['src/core/worker/message/message.ts', 'Mail'],
  ['src/client/summaries.ts', 'DeadLetter'],
  ['src/client/summaries.ts', 'Handled'],
  ['src/client/summaries.ts', 'Redriven'],
  ['src/client/summaries.ts', 'Dismissed'],
  ['src/client/summaries.ts', 'Sent'],
  ['src/client/summaries.ts', 'KindSummary'],
  ['src/client/summaries.ts', 'NodeSummary'],
  ['src/audit/audit.ts', 'AuditReport'],
  ['src/audit/finding.ts', 'AuditFinding'],
  ['src/client/health/health.ts', 'Health'],
  ['src/core/worker/run/failure.ts', 'Failure'],
  ['src/core/event/event.ts', 'EventHead'],
]

const blocksOf = (
  declarations: readonly (readonly [file: string, declaration: string])[],
  tableOf: (file: string, declaration: string) => string,
) => Object.fromEntries(declarations.map(([file, declaration]) => [declaration, () => tableOf(file, declaration)]))

export const typePages = Object.fromEntries([
  ...Object.entries(pages).map(([page, declarations]) => [page, blocksOf(declarations, typeTable)] as const),
  ['docs/reference/json.md', blocksOf(shapes, shapeTable)] as const,
])

/** Meanings of members that have no comment, since their name says nearly everything. */
const meanings: Readonly<Record<string, string>> = {
  id: 'Its id.',
  name: 'Its name, for people.',
  kind: 'Its kind.',
  sessionId: 'The session.',
  parentId: 'The worker that spawned it; null for a root.',
  rootId: 'The id of the root worker.',
  limits: 'Limits: see [defaults](defaults.md).',
  log: 'A log whose lines carry the ids of this worker.',
  setState: 'Replaces the state.',
  description: 'A sentence about its purpose, for people and models.',
  receive: 'Receives one message; may be asynchronous. Its effects are committed together after it returns.',
  tools: 'The tools of its model, made with `defineTool`.',
  workerId: 'The worker.',
  toolCallId: 'The id of this call.',
  effect: "`'pure'`, `'idempotent'` or `'once'`: see [agents](../agents.md#tools).",
  run: 'Does the work.',
  kinds: 'Its kinds.',
  root: 'The root worker.',
  'workers.get': 'A worker by id, without asking Redis.',
  nodes: 'The live nodes.',
  input: 'The value of the input.',
  limit: 'The most items to return.',
  value: 'The value that was sent.',
  from: 'The sender; null for none.',
  redisUrl: 'Address of Redis.',
  idempotencyKey: 'The same key within 24 h has its effect once.',
  signal: 'Ends the call when it is aborted.',
  state: 'Only sessions in this state.',
  report: 'The worker, as its record says now.',
  letter: 'The id of one letter.',
  workerKind: 'The kind of the child.',
  history: 'A page of its history.',
  mailbox: 'The messages that wait in its mailbox.',
}

function typeTable(file: string, declaration: string): string {
  const members = membersOf(file, declaration)
  const rows = members
    .filter(({ type }) => type !== 'undefined | absent')
    .map((member) => {
      const [meaning, standard] = meaningOf(member, `${file}: ${declaration}`)
      return [`\`${member.name}\``, `\`${member.type.replace(/ \| absent$/, '')}\``, meaning, standard]
    })
  const hasDefaults = members.some(({ type }) => type.endsWith('| absent'))
  const head = ['name', 'type', 'meaning', ...(hasDefaults ? ['default'] : [])]
  return table(
    head,
    rows.map((row) => row.slice(0, head.length)),
  )
}

function shapeTable(file: string, declaration: string): string {
  const rows = membersOf(file, declaration).map(({ name, type, comment }) => [`\`${name}\``, `\`${type}\``, comment])
  return table(['field', 'type', 'meaning'], rows)
}

/** The meaning, and the default of a member that may be left out: its comment says it in a sentence that begins with "Default". */
function meaningOf({ name, type, comment }: Member, where: string): [meaning: string, standard: string] {
  const isOptional = type.endsWith('| absent')
  const inBrackets = /(`\w+`)[^`]*\(default\)/.exec(comment)?.[1]
  const [, before = '', standard = inBrackets ?? '', after = ''] = (isOptional &&
    /^([\s\S]*?)\b[Dd]efault: ?([\s\S]*?)(?:\.(?=\s|$)|$)([\s\S]*)$/.exec(
      comment.replace(/Default (?=\S)/, 'Default: '),
    )) || ['', comment]
  const said = [before.trim().replace(/;$/, '.'), after.trim()].filter((part) => part !== '')
  const meaning = said.length > 0 ? said.join(' ') : meanings[name]
  if (meaning === undefined) throw new Error(`${where}.${name} has no comment: nothing says what it means`)
  return [meaning, isOptional && standard === '' ? 'none' : standard]
}

/** The public members of `interface Name` or `class Name` in this file, in their order. */
function membersOf(file: string, declaration: string): Member[] {
  const lines = readFileSync(join(root, file), 'utf8').split('\n')
  const begin = lines.findIndex((line) => new RegExp(`^(export )?(interface|class) ${declaration}\\b`).test(line))
  if (begin < 0) throw new Error(`${file} declares no ${declaration}`)
  const members = readMembers(lines.slice(begin + 1, lines.indexOf('}', begin)), 2, '')
  if (members.length === 0) throw new Error(`${file}: no member of ${declaration} can be read`)
  return members
}

/** The names of these members. */
export function memberNames(file: string, declaration: string): string[] {
  return membersOf(file, declaration).map(({ name }) => name)
}

/** What the declaration extends, by name. Its table does not show their members. */
export function parentsOf(declaration: string): string[] {
  const file = Object.values(pages)
    .flat()
    .find(([, name]) => name === declaration)?.[0]
  if (file === undefined) return []
  const head = new RegExp(`^(?:export )?(?:interface|class) ${declaration}\\b.* extends (.*) \\{$`, 'm')
  const [, parents = ''] = head.exec(readFileSync(join(root, file), 'utf8')) ?? []
  return parents.split(', ').flatMap((parent) => /^\w+/.exec(parent)?.[0] ?? [])
}

function readMembers(lines: readonly string[], indent: number, prefix: string): Member[] {
  const members: Member[] = []
  let comment = ''
  for (let index = 0; index < lines.length; index++) {
    const line = lines[index] as string
    // A method that is bound to its object is written as a function.
    const text = line.slice(indent).replace(/^(\w+) = (?:async )?(?=\()/, '$1')
    if (!line.startsWith(' '.repeat(indent)) || text.startsWith(' ')) continue
    if (text.startsWith('/**')) {
      const end = lines.findIndex((one, at) => at >= index && one.includes('*/'))
      comment = plainComment(lines.slice(index, end + 1))
      index = end
      continue
    }
    const isGetter = text.startsWith('get ')
    const nested = /^readonly (\w+) = \{$/.exec(text)?.[1]
    if (nested !== undefined) {
      const end = lines.indexOf(`${' '.repeat(indent)}}`, index)
      members.push(...readMembers(lines.slice(index + 1, end), indent + 2, `${prefix}${nested}.`))
      index = end
    } else {
      const head = headOf([text, ...lines.slice(index + 1)])
      const member = /^(?:readonly |async |get )*([a-z]\w*)(\??)([:(<].*)$/.exec(head)
      const [, name = '', optional = '', rest = ''] = member ?? []
      if (member !== null && name !== 'constructor')
        members.push({ name: prefix + name, type: typeOf(isGetter ? rest.slice(2) : rest, optional), comment })
    }
    comment = ''
  }
  return members
}

/** A member up to its body: its first line, and those that follow while a bracket is open or a union goes on. */
function headOf([first = '', ...lines]: readonly string[]): string {
  let head = first
  for (const line of lines) {
    const open = (head.match(/[([]/g)?.length ?? 0) - (head.match(/[)\]]/g)?.length ?? 0)
    if (open <= 0 && !/^\s+\| /.test(line)) break
    head += ` ${line.trim()}`
  }
  return head
}

/** `(query: Query = {}): Promise<T> {` and `: async (query): Promise<T> => {` as `(query?: Query) => Promise<T>`. */
function typeOf(rest: string, optional: string): string {
  const text = rest
    .replace(/^: (async )?/, '')
    .replace(/ (=> )?\{$/, '')
    .replace(/this: void(, )?/, '')
    .replaceAll(/(\w+): ([^,()=]+) = [^,)]+/g, '$1?: $2')
    .replace(/ \| undefined$/, '')
    .replaceAll(/, \)/g, ')')
  const method = /^(\(.*\)): (.+)$/.exec(text)
  const type = method === null ? text : `${method[1]} => ${method[2]}`
  return optional === '' ? type : `${type} | absent`
}

function plainComment(lines: readonly string[]): string {
  const text = lines.map((line) => line.replace(/^\s*(\/\*\*|\*(?!\/))?\s?/, '').replace(/\s*\*\/$/, '')).join(' ')
  return text.replace(/\s+/g, ' ').trim()
}
