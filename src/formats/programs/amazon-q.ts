/**
 * Duty: what the Amazon Q command line and its successor Kiro keep: the saved file, and the row of the database of each.
 * AMAZON-Q-1 All fields that the programs require are written.
 */
import { isObject } from '../../core/check/is-object.ts'
import { InputError } from '../../core/errors.ts'
import type { ChatMessage, Json } from '../../core/history/chat/chat-message.ts'
import { handoffMark } from '../../core/history/prompt/prompt-fold.ts'
import type { Format, Losses, Text, Written } from '../format.ts'
import { Foreign } from '../parts/foreign.ts'
import { uuidFor } from '../parts/portable.ts'
import { wholeOf } from '../parts/role-list.ts'
import { type Said, textBlocks } from '../parts/said.ts'
import { type Source, sourceOf } from '../source.ts'
import { qHistory, qLosses, readQEntry, readQUser } from './q-message.ts'

const losses: Losses = {
  ...qLosses,
  summaries: `one that stands first stays what it is; others become the text of a user that begins with ${handoffMark}`,
}

export const amazonQ: Format = {
  name: 'amazon-q',
  title: 'Amazon Q saved file',
  form: 'a JSON object, as `/save` of the Amazon Q command line writes it and `/load` reads it',
  losses,
  fits(source) {
    const { conversation_id, history, transcript, latest_summary } = wholeOf(source)
    return (
      Array.isArray(history) &&
      (typeof conversation_id === 'string' || Array.isArray(transcript) || latest_summary !== undefined)
    )
  },
  read: ({ whole, lines }, said) => readState(whole ?? (lines[0] as Foreign), said),
  write: (messages, written): Text => ({ json: stateOf(messages, written) }),
}

export const amazonQRow: Format = {
  name: 'amazon-q-row',
  title: 'row of the Amazon Q database',
  form: 'a JSON object `{key, value}`: a row of the table `conversations`. `key` is a folder, `value` the text of the saved file',
  losses,
  fits: (source) => areRows(source) && !areNewer(source),
  read: readRow,
  write: (messages, written): Text => ({
    json: { key: written.folder ?? '/', value: JSON.stringify(stateOf(messages, written)) },
  }),
}

export const kiroRow: Format = {
  name: 'kiro-row',
  title: 'row of the Kiro database',
  form: 'a JSON object `{key, conversation_id, value, created_at, updated_at}`: a row of the table `conversations_v2`',
  losses,
  fits: (source) => areRows(source) && areNewer(source),
  read: readRow,
  write(messages, written): Text {
    const state = stateOf(messages, written)
    const times = messages.map(({ at }) => at).filter((at) => at > 0)
    return {
      json: {
        key: written.folder ?? '/',
        conversation_id: state.conversation_id,
        value: JSON.stringify(state),
        created_at: times.reduce((a, b) => Math.min(a, b), times[0] ?? 0),
        updated_at: times.reduce((a, b) => Math.max(a, b), times[0] ?? 0),
      },
    }
  },
}

/** One row, or several, as `sqlite3 -json` prints them. */
function areRows({ lines }: Source): boolean {
  const isRow = ({ value: row }: Foreign) =>
    isObject(row) && typeof row.key === 'string' && typeof row.value === 'string'
  return lines.length > 0 && lines.every(isRow)
}

function areNewer({ lines }: Source): boolean {
  return lines[0]?.has('conversation_id') === true
}

function readRow({ lines }: Source, said: Said): void {
  const { wanted } = said
  const nameOf = (row: Foreign) => [row.field('conversation_id').value, row.field('key').value]
  const only = lines.length === 1 ? lines[0] : undefined
  const row = wanted === undefined ? only : lines.find((one) => nameOf(one).includes(wanted))
  if (row === undefined) {
    const names = lines.slice(0, 10).map((one) =>
      nameOf(one)
        .filter((name) => typeof name === 'string')
        .join(' in '),
    )
    throw new InputError(
      `there are ${lines.length} rows${wanted === undefined ? '' : `, and none of ${wanted}`}. Name the conversation of one of them: ${names.join(', ')}.`,
    )
  }
  said.title = row.field('key').textIfAny()
  const { whole: value } = sourceOf(row.field('value').text())
  if (value === null) throw row.field('value').wrong('must be the text of one JSON object.')
  readState(new Foreign(value.value, 'value'), said)
}

function readState(state: Foreign, said: Said): void {
  said.id = state.field('conversation_id').textIfAny()
  const summary = state.field('latest_summary')
  const text = summary.isList ? summary.items()[0]?.textIfAny() : summary.textIfAny()
  if (text !== undefined && text !== '') said.summary(text, 0)
  for (const entry of state.field('history').items()) readQEntry(entry, said)
  if (!state.field('next_message').isNone) readQUser(state.field('next_message'), said)
  if (said.messages.length === 0) readTranscript(state, said)
}

/** A history that was cleared leaves what a person read. Commands of the person are no part of the conversation. */
function readTranscript(state: Foreign, said: Said): void {
  const lines = state.has('transcript')
    ? state
        .field('transcript')
        .itemsIfAny()
        .map((line) => line.text())
    : []
  for (const line of lines) {
    const [, prompt] = /^> (.*)$/s.exec(line) ?? []
    if (prompt !== undefined && !prompt.startsWith('/')) said.user(textBlocks(prompt.replaceAll('> \n', '\n').trim()))
    const answer = prompt === undefined ? line.replace(/\n\[Tool uses: [^\n]*\]$/, '').trim() : ''
    if (answer !== '') said.assistant(textBlocks(answer))
  }
  if (said.messages.length > 0)
    said.warn('its history is empty: the transcript was read, which does not say what tools were asked and returned.')
}

function stateOf(messages: readonly ChatMessage[], written: Written): Readonly<Record<string, Json>> {
  const { pairs, next, summary, transcript } = qHistory(messages, written)
  return {
    conversation_id: uuidFor(written.id ?? 'troupe'),
    next_message: next,
    history: pairs.map((pair) => ({ ...pair, request_metadata: null })),
    valid_history_range: [0, pairs.length],
    transcript: [...transcript],
    tools: {},
    context_manager: null,
    context_message_length: null,
    latest_summary: summary === null ? null : [summary, metadataOf(summary)],
    file_line_tracker: {},
    checkpoint_manager: null,
    mcp_enabled: true,
  }
}

/** The metadata of the request that made a summary: nothing is known of it. */
function metadataOf(summary: string): Json {
  return {
    request_id: null,
    message_id: '',
    request_start_timestamp_ms: 0,
    stream_end_timestamp_ms: 0,
    time_to_first_chunk: null,
    time_between_chunks: [],
    user_prompt_length: 0,
    response_size: Buffer.byteLength(summary),
    chat_conversation_type: null,
    tool_use_ids_and_names: [],
    model_id: null,
    message_meta_tags: ['Compact'],
  }
}
