/**
 * Duty: read events of the environment of agents of the second design, as JSON lines: prompts, pieces of output, tools, ends of jobs.
 * AGENT-ENV-1 Calls have no ids here: a result names its tool. What a cancelled job had said so far is left out, as the program does.
 */
import { isObject } from '../../core/check/is-object.ts'
import type { ChatMessage, Json, ToolCallBlock } from '../../core/history/chat/chat-message.ts'
import type { Format } from '../format.ts'
import { argumentsObject } from '../parts/arguments.ts'
import type { Foreign } from '../parts/foreign.ts'
import { uuidFor } from '../parts/portable.ts'
import { type Said, textBlocks, textOutput } from '../parts/said.ts'
import { callsIn, joined, outputText, type Turn, turnsOf } from '../parts/turns.ts'
import { noAudio, noFiles, noImages, noReasoning, ofRequests, oneText, textResults } from '../parts/wire-losses.ts'

const types = new Set<unknown>([
  'worker_created',
  'worker_deleted',
  'worker_state_changed',
  'job_started',
  'job_completed',
  'output_chunk',
  'response_received',
  'tool_use_requested',
  'shutdown_initiated',
  'prompt_received',
  'server_started',
  'websocket_connected',
  'workers_snapshot',
  'conversation_snapshot',
])

export const agentEnv: Format = {
  name: 'agent-env',
  title: 'agent_env events',
  form: 'JSON lines, an event in each',
  losses: {
    ...ofRequests,
    ...noAudio,
    ...noFiles,
    ...noImages,
    ...noReasoning,
    ...oneText,
    ...textResults,
    models: 'left out',
    system: 'left out: the events have none',
    laterSystem: 'left out: the events have none',
    severalSystem: 'left out: the events have none',
    names: 'left out',
    signatures: 'left out',
    badArguments: 'go under the name `arguments` of an object',
    callIds: 'left out: the order tells which result belongs to which call',
    oddCallIds: 'left out: the order tells which result belongs to which call',
    failedResults: 'only the text says so',
    times: 'those of summaries are left out',
  },
  fits({ lines }) {
    return lines
      .slice(0, 20)
      .some(
        ({ value }) =>
          isObject(value) &&
          ((types.has(value.type) && ('timestamp' in value || 'worker_id' in value)) || value.command === 'prompt'),
      )
  },
  read({ lines }, said) {
    const worker = said.wanted ?? firstWorker(lines)
    const others = new Set(
      lines.flatMap(({ value }) => (isObject(value) && typeof value.worker_id === 'string' ? [value.worker_id] : [])),
    )
    if (worker !== undefined) others.delete(worker)
    if (others.size > 0)
      said.warn(`the events of ${others.size} other workers were left out: ${[...others].slice(0, 5).join(', ')}.`)
    said.id = worker
    const reader = new EventReader(said)
    for (const line of lines) {
      const of = line.field('worker_id').textIfAny()
      if (of === undefined || of === worker) reader.read(line)
    }
    reader.end()
  },
  write: (messages, { id = 'troupe' }) => ({ lines: new EventWriter(uuidFor(id)).write(messages) }),
}

/** The first worker that said or was told anything. */
function firstWorker(lines: readonly Foreign[]): string | undefined {
  const talks = new Set<unknown>(['prompt_received', 'output_chunk', 'response_received', 'conversation_snapshot'])
  const speaks = (value: unknown) => isObject(value) && (talks.has(value.type) || value.command === 'prompt')
  const line =
    lines.find(({ value }) => speaks(value) && typeof Object(value).worker_id === 'string') ??
    lines.find(({ value }) => typeof Object(value).worker_id === 'string')
  return line?.field('worker_id').textIfAny()
}

class EventReader {
  readonly #said: Said
  #text = ''
  #calls: ToolCallBlock[] = []
  /** Calls of pieces that no request named yet: both tell of the same call. */
  #unasked: string[] = []
  #results: (readonly [name: string | undefined, text: string, at: number])[] = []
  #at = 0
  #isWhole = false

  constructor(said: Said) {
    this.#said = said
  }

  read(line: Foreign): void {
    if (line.has('command')) {
      if (line.field('command').text() === 'prompt') this.#prompt(line.field('text'), 0)
      return
    }
    if (!line.has('type')) {
      if (line.has('prompt')) this.#prompt(line.field('prompt'), 0)
      return
    }
    const at = line.field('timestamp').time()
    switch (line.field('type').text()) {
      case 'prompt_received':
        this.#prompt(line.field('text', 'prompt'), at)
        return
      case 'output_chunk':
        this.#chunk(line.field('chunk'), at)
        return
      case 'tool_use_requested':
        this.#requested(line, at)
        return
      case 'response_received':
        this.#response(line.field('text'), at)
        return
      case 'job_completed':
        this.#completed(line.field('result'), at)
        return
      case 'conversation_snapshot':
        this.#snapshot(line)
    }
  }

  #prompt(text: Foreign, at: number): void {
    this.end()
    this.#said.user(textBlocks(text.text()), { at })
  }

  #chunk(chunk: Foreign, at: number): void {
    const type = chunk.field('chunk_type').text()
    if (type === 'assistant_response') {
      if (this.#isWhole || this.#results.length > 0) this.end()
      this.#text += chunk.field('text').text()
      this.#at = at
    } else if (type === 'tool_use') {
      if (this.#isWhole || this.#results.length > 0) this.end()
      this.#unasked.push(keyOf(chunk))
      this.#addCall(chunk, at)
    } else if (type === 'tool_result') {
      this.#results.push([chunk.field('tool_name').textIfAny(), chunk.field('result').text(), at])
    }
  }

  #requested(line: Foreign, at: number): void {
    const known = this.#unasked.indexOf(keyOf(line))
    if (known >= 0) this.#unasked.splice(known, 1)
    else this.#addCall(line, at)
  }

  #addCall(from: Foreign, at: number): void {
    const input = from.field('tool_input')
    this.#calls.push(
      this.#said.call(undefined, from.field('tool_name').text(), { value: input.isNone ? {} : input.json() }),
    )
    if (this.#at === 0) this.#at = at
  }

  #response(text: Foreign, at: number): void {
    if (this.#isWhole || this.#results.length > 0) this.end()
    const whole = text.textIfAny() ?? ''
    if (whole !== '') this.#text = whole
    this.#at = at
    this.#isWhole = true
  }

  #completed(result: Foreign, at: number): void {
    const status = result.field('status').textIfAny()
    if (status === 'cancelled' && !this.#isWhole && this.#calls.length === 0) this.#text = ''
    this.end()
    if (status === 'failed') this.#said.error(result.field('error').textIfAny() ?? 'failed', { at })
  }

  /** A snapshot holds all that was said so far. */
  #snapshot(line: Foreign): void {
    this.end()
    this.#said.messages.length = 0
    for (const entry of line.field('entries').items()) {
      const at = entry.field('timestamp').time()
      const text = entry.field('content').textIfAny() ?? ''
      const type = entry.field('type').text()
      if (type === 'assistant_message') this.#said.assistant(textBlocks(text), { at })
      else if (type === 'tool_use') {
        for (const use of entry.field('tool_uses').items()) this.#addCall(use, at)
        this.end()
      } else if (type !== 'user_message') this.#said.leaveOut(entry, `an entry of type "${type}"`)
      else if (text === '[Tool Results]' || text === '[Cancelled]')
        this.#said.leaveOut(entry, 'the snapshot does not say what tools returned')
      else this.#said.user(textBlocks(text), { at })
    }
  }

  end(): void {
    const blocks = [...textBlocks(this.#text), ...this.#calls]
    if (blocks.length > 0) this.#said.assistant(blocks, { at: this.#at })
    for (const [name, text, at] of this.#results) this.#said.result({ name }, 'ok', textOutput(text), { at })
    this.#text = ''
    this.#calls = []
    this.#unasked = []
    this.#results = []
    this.#at = 0
    this.#isWhole = false
  }
}

function keyOf(from: Foreign): string {
  return JSON.stringify([from.field('tool_name').value, from.field('tool_input').value ?? {}])
}

class EventWriter {
  readonly #worker: string
  readonly #lines: Json[] = []
  #jobs = 0
  #isOpen = false
  #at = 0

  constructor(worker: string) {
    this.#worker = worker
  }

  write(messages: readonly ChatMessage[]): Json[] {
    const turns = turnsOf(messages)
    this.#event('worker_created', { name: 'main' }, messages.find(({ at }) => at > 0)?.at ?? 0)
    for (const turn of turns) this.#turn(turn)
    this.#endJob()
    return this.#lines
  }

  #turn(turn: Turn): void {
    if (turn.side === 'user') {
      this.#endJob()
      this.#event('prompt_received', { text: joined(turn.blocks) }, turn.at)
    } else if (turn.side === 'assistant') {
      const { at } = turn.message
      const text = joined(turn.blocks)
      this.#startJob(at)
      if (text !== '') this.#chunk({ chunk_type: 'assistant_response', text }, at)
      for (const call of callsIn(turn.blocks)) {
        const tool = {
          tool_name: call.toolName,
          tool_input: call.inputText === undefined ? call.input : (argumentsObject(call) as Json),
        }
        this.#chunk({ chunk_type: 'tool_use', ...tool }, at)
        this.#jobEvent('tool_use_requested', tool, at)
      }
      this.#jobEvent('response_received', { text }, at)
    } else if (turn.side === 'results') {
      for (const result of turn.results)
        this.#chunk({ chunk_type: 'tool_result', tool_name: result.toolName, result: outputText(result) }, result.at)
    }
  }

  #startJob(at: number): void {
    if (this.#isOpen) return
    this.#jobs++
    this.#isOpen = true
    this.#jobEvent('job_started', { task_type: 'AgentLoop' }, at)
  }

  #endJob(): void {
    if (this.#isOpen)
      this.#jobEvent('job_completed', { result: { status: 'success', user_interaction_required: false } }, this.#at)
    this.#isOpen = false
  }

  #chunk(chunk: Json, at: number): void {
    this.#jobEvent('output_chunk', { chunk }, at)
  }

  #jobEvent(type: string, more: Readonly<Record<string, Json>>, at: number): void {
    this.#event(type, { job_id: uuidFor(`${this.#worker}/${this.#jobs}`), ...more }, at)
  }

  #event(type: string, more: Readonly<Record<string, Json>>, at: number): void {
    this.#at = at
    this.#lines.push({ type, worker_id: this.#worker, ...more, timestamp: at / 1_000 })
  }
}
