/**
 * Duty: the context of the fourth design as JSON: a pool of messages, branches that name them, and the state of its machine, in the spelling of
 * the first design or of the later program. Only the active branch is a conversation.
 * FSM-1 Each call has its result, as a message of its own behind the reply.
 */
import type {
  AssistantBlock,
  ChatMessage,
  Json,
  ToolResultMessage,
  UserBlock,
} from '../../core/history/chat/chat-message.ts'
import { plainOutputOf } from '../../core/history/chat/media.ts'
import { approvalStatuses } from '../../core/worker/ask/approval-status.ts'
import type { Format, Losses, Text, Written } from '../format.ts'
import { argumentsObject } from '../parts/arguments.ts'
import { addressOf, mediaAt } from '../parts/data-uri.ts'
import type { Foreign } from '../parts/foreign.ts'
import { uuidFor } from '../parts/portable.ts'
import { wholeOf } from '../parts/role-list.ts'
import { errorOutput, modelOf, outputOf, type Said, textBlocks } from '../parts/said.ts'
import { callsIn, joined, noteOf, outputText, type Turn, turnsOf } from '../parts/turns.ts'
import { noAudio, noFiles, noReasoning, ofRequests, oneText } from '../parts/wire-losses.ts'

const roles = ['System', 'User', 'Assistant', 'Tool'] as const
const approvals = ['Pending', 'Approved', 'Denied'] as const

const losses: Losses = {
  ...ofRequests,
  ...noAudio,
  ...noFiles,
  ...noReasoning,
  ...oneText,
  models: 'left out, except that of the newest reply',
  names: 'left out',
  signatures: 'left out',
  badArguments: 'go under the name `arguments` of an object',
  failedResults: 'only the text says so',
  cancelledResults: 'become denials',
}

export const fsm: Format = {
  name: 'fsm',
  title: 'context of the state machine',
  form: 'a JSON object with `message_pool`, `branches` and `current_state`, in the spelling of the design (`"Idle"`)',
  losses,
  fits: (source) => isContext(source) && !isSnake(wholeOf(source).current_state),
  read: readContext,
  write: (messages, written) => contextOf(messages, written, { current_state: 'Idle' }),
}

export const fsmSnake: Format = {
  name: 'fsm-snake',
  title: 'context of the state machine, later spelling',
  form: 'the same in the spelling of the later program (`"idle"`)',
  losses,
  fits: (source) => isContext(source) && isSnake(wholeOf(source).current_state),
  read: readContext,
  write: (messages, written) =>
    contextOf(messages, written, { continuation_count: 0, continuation_reasons: [], current_state: 'idle' }),
}

function isContext(source: Parameters<typeof wholeOf>[0]): boolean {
  const { message_pool, branches } = wholeOf(source)
  return typeof message_pool === 'object' && message_pool !== null && typeof branches === 'object'
}

/** A state is a word, or an object with the word as its only field. */
function isSnake(state: unknown): boolean {
  const word = typeof state === 'string' ? state : Object.keys(Object(state) as object)[0]
  return word !== undefined && /^[a-z]/.test(word)
}

interface Reading {
  readonly said: Said
  readonly model: string | undefined
  /** Ids of calls that somebody denied. */
  readonly denied: Set<string>
}

function readContext({ whole, lines }: Parameters<Format['read']>[0], said: Said): void {
  const context = whole ?? (lines[0] as Foreign)
  said.id = context.field('id').textIfAny()
  said.title = context.has('title') ? context.field('title').textIfAny() : undefined
  const model = context.has('config')
    ? modelOf('unknown', context.field('config').field('model_id').textIfAny())
    : undefined
  const branches = new Map(context.field('branches').entries())
  const name = said.wanted ?? context.field('active_branch_name').textIfAny() ?? 'main'
  const branch = branches.get(name)
  if (branch === undefined)
    throw context.field('branches').wrong(`has no branch "${name}": it has ${[...branches.keys()].join(', ')}.`)
  if (branches.size > 1)
    said.warn(`the branch "${name}" was read, of ${branches.size}: ${[...branches.keys()].join(', ')}.`)
  const prompt = branch.field('system_prompt')
  if (!prompt.isNone) said.system(prompt.isText ? prompt.text() : prompt.field('content').text())
  const pool = new Map(context.field('message_pool').entries())
  const reading: Reading = { said, model, denied: new Set() }
  for (const id of branch.field('message_ids').items()) {
    const node = pool.get(id.text())
    if (node === undefined) throw id.wrong(`names the message ${id.text()}, which is not in the pool.`)
    readMessage(node.has('message') ? node.field('message') : node, id.text(), reading)
  }
}

function readMessage(message: Foreign, id: string, { said, model, denied }: Reading): void {
  const role = message.field('role').word(roles)
  const content = message.field('content')
  const blocks = content.isList
    ? content.items().flatMap((part) => partOf(part, said))
    : textBlocks(content.textIfAny())
  const head = { id }
  const result = message.field('tool_result')
  if (role === 'Tool' || !result.isNone) {
    readResult(result, joined(blocks), said, denied)
    return
  }
  if (role === 'System') said.system(joined(blocks), head)
  else if (role === 'User') said.user(blocks, head)
  else {
    const calls = message
      .field('tool_calls')
      .itemsIfAny()
      .map((call) => callOf(call, said, denied))
    said.assistant([...textBlocks(joined(blocks)), ...calls], { ...head, model })
  }
}

function partOf(part: Foreign, said: Said): UserBlock[] {
  if (part.isText) return textBlocks(part.text())
  const type = part.field('type').textIfAny()?.toLowerCase() ?? 'text'
  if (type === 'text') return textBlocks(part.field('text').text())
  if (type === 'image') return [mediaAt('image', part.field('url').text())]
  said.leaveOut(part, `a part of type "${type}"`)
  return []
}

/** Arguments are a text, a list of texts, or any other JSON. A denied call has its result as if it had been cancelled. */
function callOf(call: Foreign, said: Said, denied: Set<string>) {
  const args = call.field('arguments')
  const made = said.call(call.field('id').textIfAny(), call.field('tool_name').text(), {
    value: args.isNone ? {} : args.json(),
  })
  if (call.has('approval_status') && call.field('approval_status').word(approvals) === 'Denied')
    denied.add(made.toolCallId)
  return made
}

function readResult(result: Foreign, text: string, said: Said, denied: ReadonlySet<string>): void {
  if (result.isNone) {
    said.result({}, 'ok', outputOf(text))
    return
  }
  const id = result.field('request_id').text()
  const value = result.field('result').json()
  if (denied.has(id))
    said.result({ id }, 'cancelled', errorOutput(typeof value === 'string' ? value : JSON.stringify(value)))
  else said.result({ id }, 'ok', outputOf(value))
}

function contextOf(
  messages: readonly ChatMessage[],
  { id = 'troupe' }: Written,
  state: Readonly<Record<string, Json>>,
): Text {
  const statuses = new Map(
    messages.flatMap((message) =>
      message.type === 'toolResult' ? [[message.toolCallId, approvalOf(message)] as const] : [],
    ),
  )
  const written = turnsOf(messages).flatMap((turn) => writtenTurn(turn, statuses))
  const ids = written.map(([given], index) => uuidFor(/^(m\d+)?$/.test(given) ? `${id}/${index}` : given))
  const reply = messages.findLast((message) => message.type === 'assistant')
  const nodes = written.map(([, message], index) => {
    const node = { id: ids[index] ?? '', message, parent_id: ids[index - 1] ?? null }
    return [node.id, node] as const
  })
  return {
    json: {
      id: uuidFor(id),
      parent_id: null,
      config: { model_id: reply?.model.replace(/^unknown\//, '') ?? 'unknown', mode: 'chat', parameters: {} },
      message_pool: Object.fromEntries(nodes),
      branches: { main: { name: 'main', message_ids: ids, system_prompt: null, user_prompt: null } },
      active_branch_name: 'main',
      ...state,
    },
  }
}

type WrittenMessage = readonly [id: string, message: Json]

/** A call that ran was approved, whether or not anybody was asked. */
function approvalOf({ approval, status }: ToolResultMessage): (typeof approvals)[number] {
  if (approval !== undefined) return approvals[approvalStatuses.indexOf(approval)] ?? 'Pending'
  return status === 'cancelled' ? 'Denied' : 'Approved'
}

function writtenTurn(turn: Turn, statuses: ReadonlyMap<string, (typeof approvals)[number]>): WrittenMessage[] {
  switch (turn.side) {
    case 'system':
      return [['', messageOf('System', [{ type: 'text', text: turn.text }])]]
    case 'user':
      return [[turn.id, messageOf('User', turn.blocks.map(writtenPart))]]
    case 'assistant': {
      const calls = callsIn(turn.blocks)
      const text = joined(turn.blocks)
      const more = calls.length === 0 ? {} : { tool_calls: calls.map((call) => writtenCall(call, statuses)) }
      return [[turn.message.id, messageOf('Assistant', text === '' ? [] : [{ type: 'text', text }], more)]]
    }
    case 'results':
      return turn.results.map((result): WrittenMessage => {
        const value = result.status === 'ok' ? plainOutputOf(result.output) : outputText(result)
        const tool_result = { request_id: result.toolCallId, result: value, display_preference: 'Default' }
        return ['', messageOf('Tool', [{ type: 'text', text: outputText(result) }], { tool_result })]
      })
  }
}

function messageOf(
  role: (typeof roles)[number],
  content: readonly Json[],
  more: Readonly<Record<string, Json>> = {},
): Json {
  return { role, content: [...content], ...more, metadata: null }
}

function writtenPart(block: UserBlock): Json {
  if (block.type === 'text') return { type: 'text', text: block.text }
  if (block.type === 'image') return { type: 'image', url: addressOf(block) }
  return { type: 'text', text: noteOf(block) }
}

function writtenCall(
  call: Extract<AssistantBlock, { readonly type: 'tool-call' }>,
  statuses: ReadonlyMap<string, (typeof approvals)[number]>,
): Json {
  return {
    id: call.toolCallId,
    tool_name: call.toolName,
    arguments: call.inputText === undefined ? call.input : argumentsObject(call),
    approval_status: statuses.get(call.toolCallId) ?? 'Approved',
    display_preference: 'Default',
  }
}
