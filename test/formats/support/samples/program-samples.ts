/** Conversations that other programs keep as events, lists or trees. */
import { lines, type Sample } from './sample.ts'

export const fsmContext = (current_state: unknown, status = 'Approved') => ({
  id: 'c0ffee00-0000-4000-8000-000000000001',
  parent_id: null,
  config: { model_id: 'gpt-x', mode: 'chat', parameters: {} },
  message_pool: {
    a: {
      id: 'a',
      message: { role: 'User', content: [{ type: 'text', text: 'look' }], metadata: null },
      parent_id: null,
    },
    b: {
      id: 'b',
      message: {
        role: 'Assistant',
        content: [{ type: 'text', text: 'I look' }],
        tool_calls: [
          { id: 'call_1', tool_name: 'read_file', arguments: '/etc/hosts', approval_status: status },
          { id: 'call_2', tool_name: 'mv', arguments: ['a', 'b'], approval_status: 'Approved' },
        ],
        metadata: null,
      },
      parent_id: 'a',
    },
    c: {
      id: 'c',
      message: {
        role: 'Tool',
        content: [],
        tool_result: { request_id: 'call_1', result: { status: 'ok' } },
        metadata: null,
      },
      parent_id: 'b',
    },
  },
  branches: {
    main: {
      name: 'main',
      message_ids: ['a', 'b', 'c'],
      system_prompt: { id: 's', content: 'Be brief.' },
      user_prompt: null,
    },
  },
  active_branch_name: 'main',
  current_state,
})
const fsmShape = (first: string) => [
  'system: Be brief.',
  'user: look',
  'assistant: I look | calls read_file "/etc/hosts" | calls mv ["a","b"]',
  first,
  'mv cancelled: This call was cancelled: it did not finish.',
]

export const timestamp = '2026-03-12T10:00:00+00:00'
const worker_id = 'w-1'
export const event = (type: string, more: object) => ({ type, worker_id, ...more, timestamp: 1.5 })
const chunk = (chunk_type: string, more: object) =>
  event('output_chunk', { job_id: 'j', chunk: { chunk_type, ...more } })

export const programSamples: readonly Sample[] = [
  [
    'a flat list of roles, of which a reply names no calls',
    'flat',
    [
      { role: 'system', content: 'You are helpful' },
      { role: 'user', content: 'Hi', name: 'alice' },
      { role: 'assistant', content: 'Hello' },
      { role: 'tool', content: 'result data', tool_call_id: 'call_123' },
    ],
    ['system: You are helpful', 'user: Hi', 'assistant: Hello | calls unknown_tool {}', 'unknown_tool ok: result data'],
  ],
  [
    'events as JSON lines',
    'agent-env',
    lines(
      event('worker_created', { name: 'main' }),
      event('prompt_received', { text: 'hi' }),
      event('job_started', { job_id: 'j', task_type: 'AgentLoop' }),
      chunk('assistant_response', { text: 'I ' }),
      chunk('assistant_response', { text: 'look' }),
      chunk('tool_use', { tool_name: 't', tool_input: { a: 1 } }),
      event('tool_use_requested', { job_id: 'j', tool_name: 't', tool_input: { a: 1 } }),
      event('response_received', { job_id: 'j', text: 'I look' }),
      chunk('tool_result', { tool_name: 't', result: 'out' }),
      chunk('assistant_response', { text: 'Done.' }),
      event('job_completed', { job_id: 'j', result: { status: 'success', user_interaction_required: false } }),
      event('prompt_received', { text: 'again' }),
      chunk('assistant_response', { text: 'cut o' }),
      event('job_completed', { job_id: 'k', result: { status: 'cancelled' } }),
      event('job_completed', { job_id: 'l', result: { status: 'failed', error: 'no model' } }),
      { type: 'worker_created', worker_id: 'w-2', name: 'other', timestamp: 2 },
    ),
    [
      'user: hi',
      'assistant: I look | calls t {"a":1}',
      't ok: out',
      'assistant: Done.',
      'user: again',
      'error: no model',
    ],
  ],
  [
    'a snapshot of a conversation',
    'agent-env',
    event('conversation_snapshot', {
      entries: [
        { type: 'user_message', content: 'hi', timestamp: 1.5 },
        { type: 'assistant_message', content: 'ho', timestamp: 2.5 },
      ],
    }),
    ['user: hi', 'assistant: ho'],
  ],
  [
    'lines of input',
    'agent-env',
    lines({ command: 'prompt', worker_id, text: 'hi' }, { command: 'quit' }),
    ['user: hi'],
  ],
  [
    'maps of llm_core',
    'llm-core',
    [
      { role: 'user', content: 'find x' },
      {
        role: 'assistant',
        content: null,
        tool_calls: [
          { id: 'call_1', name: 'search', arguments: { q: 'x' } },
          { id: null, name: 'look', arguments: {} },
        ],
      },
      { role: 'tool', tool_call_id: 'call_1', content: "Error: unknown tool 'serch'. Available: search" },
      { role: 'tool', tool_call_id: null, content: 'seen' },
    ],
    [
      'user: find x',
      'assistant: calls search {"q":"x"} | calls look {}',
      "search ok: Error: unknown tool 'serch'. Available: search",
      'look ok: seen',
    ],
  ],
  [
    'a context of the state machine in the spelling of the design',
    'fsm',
    fsmContext({ TransientFailure: { error: 'e', retry_count: 1 } }),
    fsmShape('read_file ok: {"status":"ok"}'),
  ],
  [
    'a context in the later spelling, with a call that was denied',
    'fsm-snake',
    fsmContext('awaiting_l_l_m_response', 'Denied'),
    fsmShape('read_file cancelled: {"status":"ok"}'),
  ],
  [
    'messages of the fifth design, calls beside the text',
    'chat-message',
    {
      messages: [
        { type: 'system', content: 'You are…', timestamp },
        {
          type: 'user',
          content: [
            { type: 'text', text: 'hi' },
            { type: 'image', data: 'AAAA', mime_type: 'image/png' },
          ],
          timestamp,
        },
        {
          type: 'assistant',
          content: 'ok',
          reasoning: {
            summary_text: 'plan',
            encrypted_content: { id: 'r_1', model: 'anthropic:claude-opus-4-6', content: 'blob' },
          },
          timestamp,
          tool_calls: [
            { id: '1', name: 't', arguments: '{"a":1}' },
            { id: '2', name: 't', arguments: '{}' },
          ],
        },
        { type: 'toolCallResult', Ok: { id: '1', name: 't', arguments: '{"a":1}', result: 'done' } },
        { type: 'toolCallResult', Err: { id: '2', name: 't', arguments: null, error: 'boom' } },
        { type: 'error', message: 'lost', timestamp },
        { type: 'summary', content: 'so far', timestamp, messages_compacted: 12 },
      ],
      tools: [{ name: 't', description: 'd', parameters: '{}', server: null }],
    },
    [
      'system: You are…',
      'user: hi | [image image/png]',
      'assistant: (plan) | ok | calls t {"a":1} | calls t {}',
      't ok: done',
      't error: boom',
      'error: lost',
      'summary: so far',
    ],
  ],
  [
    'messages of the fifth design with blocks',
    'chat-message-blocks',
    [
      { type: 'user', message_id: 'u1', content: [{ type: 'text', text: 'hi' }], timestamp },
      {
        type: 'assistant',
        message_id: 'a1',
        model: 'anthropic:claude-x',
        content: [
          { type: 'reasoning', summary: 'hm', encrypted: { id: 'r', content: 'blob' } },
          { type: 'text', text: 'one' },
          { type: 'toolCall', id: '1', name: 't', arguments: '{}' },
          { type: 'text', text: 'two' },
        ],
        timestamp,
      },
      { type: 'toolCallResult', Ok: { id: '1', name: 't', arguments: '{}', result: 'done' } },
    ],
    ['user: hi', 'assistant: (hm) | one | calls t {} | two', 't ok: done'],
  ],
  [
    'a log of a session, with a malformed line, a cleared context and a summary [4.18]',
    'chat-message-log',
    `${lines(
      { sessionId: 's1', cwd: '/tmp', model: 'test', selectedMode: null, createdAt: '2026-01-01T00:00:00Z' },
      { kind: 'user', data: { type: 'message', content: [{ type: 'text', text: 'forgotten' }] } },
      { kind: 'user', data: { type: 'clearContext' } },
      { kind: 'user', data: { type: 'message', content: [{ type: 'text', text: 'old' }] } },
      { kind: 'agent', data: { Text: { message_id: 'm', chunk: 'older', is_complete: true, model_name: 'a/b' } } },
      { kind: 'agent', data: 'Done' },
      { kind: 'agent', data: { ContextCompactionResult: { summary: 'so far', messages_removed: 2 } } },
      { kind: 'user', data: { type: 'message', content: [{ type: 'text', text: 'hi' }] } },
      { kind: 'agent', data: { Text: { message_id: 'm2', chunk: 'par', is_complete: false, model_name: 'a/b' } } },
      { kind: 'agent', data: { ToolCall: { request: { id: '1', name: 't', arguments: '' }, model_name: 'a/b' } } },
      {
        kind: 'agent',
        data: {
          ToolResult: {
            result: { id: '1', name: 't', arguments: '{"a":1}', result: 'done' },
            result_meta: null,
            model_name: 'a/b',
          },
        },
      },
      {
        kind: 'agent',
        data: { Text: { message_id: 'm3', chunk: 'It is done.', is_complete: true, model_name: 'a/b' } },
      },
      { kind: 'agent', data: 'Done' },
    )}\n{"kind":"agent","da`,
    ['summary: so far', 'user: hi', 'assistant: calls t {"a":1}', 't ok: done', 'assistant: It is done.'],
  ],
]
