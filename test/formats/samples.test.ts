/** Each format as the designs and the interfaces have it: what is recognised, and what is read. */
import { describe, expect, test } from 'vitest'
import type { ChatMessage } from '../../src/core/history/chat/chat-message.ts'
import { chat } from '../../src/core/history/chat/message-factories.ts'
import { readConversation, writeConversation } from '../../src/formats/formats.ts'

type Block = Extract<ChatMessage, { type: 'user' | 'assistant' }>['content'][number]

/** In short: `user: text`, `assistant: text | calls t {"a":1}`, `t ok: done`. */
const shape = (messages: readonly ChatMessage[]) => messages.map(shapeOf)

function shapeOf(message: ChatMessage): string {
  switch (message.type) {
    case 'system':
    case 'summary':
      return `${message.type}: ${message.text}`
    case 'error':
      return `error: ${message.message}`
    case 'toolResult': {
      const { output, toolName, status } = message
      return `${toolName} ${status}: ${typeof output.value === 'string' ? output.value : JSON.stringify(output.value)}`
    }
    case 'user':
    case 'assistant':
      return `${message.type}: ${message.content.map(blockOf).join(' | ')}`
  }
}

function blockOf(block: Block): string {
  switch (block.type) {
    case 'text':
      return block.text
    case 'reasoning':
      return `(${block.text})`
    case 'tool-call':
      return `calls ${block.toolName} ${block.inputText ?? JSON.stringify(block.input)}`
    case 'file':
      return `[file ${block.mediaType}]`
    default:
      return `[${block.type} ${block.mediaType}]`
  }
}

const lines = (...objects: readonly unknown[]) => objects.map((one) => JSON.stringify(one)).join('\n')

const qUser = (content: object) => ({
  additional_context: '',
  env_context: { env_state: { operating_system: 'linux', current_working_directory: '/p', environment_variables: [] } },
  content,
  timestamp: '2025-12-29T16:08:02.157487299Z',
  images: null,
})
const qCall = {
  ToolUse: {
    message_id: '3ae5',
    content: '',
    tool_uses: [
      {
        id: 'tooluse_1',
        name: 'execute_bash',
        orig_name: 'execute_bash',
        args: { command: 'ls' },
        orig_args: { command: 'ls' },
      },
    ],
  },
}
const qResult = (content: readonly object[], status = 'Success') => [{ tool_use_id: 'tooluse_1', content, status }]
const qHistory = [
  { user: qUser({ Prompt: { prompt: 'hi' } }), assistant: qCall, request_metadata: null },
  {
    user: qUser({ ToolUseResults: { tool_use_results: qResult([{ Text: 'out' }, { Json: { k: 1 } }]) } }),
    assistant: { Response: { message_id: null, content: 'done' } },
  },
]
const qState = {
  conversation_id: '54badc71-04c3-492e-9da5-9d30334a70c7',
  next_message: null,
  history: qHistory,
  valid_history_range: [0, 2],
  transcript: ['> hi'],
  tools: {},
  context_manager: null,
  context_message_length: null,
  latest_summary: null,
  file_line_tracker: {},
  checkpoint_manager: null,
  mcp_enabled: true,
}
const qShape = [
  'user: hi',
  'assistant: calls execute_bash {"command":"ls"}',
  'execute_bash ok: out\n{"k":1}',
  'assistant: done',
]

const fsmContext = (current_state: unknown, status = 'Approved') => ({
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

const timestamp = '2026-03-12T10:00:00+00:00'
const worker_id = 'w-1'
const event = (type: string, more: object) => ({ type, worker_id, ...more, timestamp: 1.5 })
const chunk = (chunk_type: string, more: object) =>
  event('output_chunk', { job_id: 'j', chunk: { chunk_type, ...more } })

const samples: readonly [what: string, format: string, given: unknown, shape: readonly string[]][] = [
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
  ['the file that /save writes: complete pairs, and a message that waits [1.34]', 'amazon-q', qState, qShape],
  [
    'a saved file with a summary and a message that waits',
    'amazon-q',
    { ...qState, latest_summary: ['so far', {}], next_message: qUser({ Prompt: { prompt: 'and?' } }) },
    ['summary: so far', ...qShape, 'user: and?'],
  ],
  [
    'a summary that other tools wrote as a text',
    'amazon-q',
    { ...qState, latest_summary: 'so far' },
    ['summary: so far', ...qShape],
  ],
  [
    'calls that were cancelled, with a prompt',
    'amazon-q',
    {
      ...qState,
      history: [
        qHistory[0],
        {
          user: qUser({
            CancelledToolUses: {
              prompt: 'stop',
              tool_use_results: qResult([{ Text: 'Tool use was cancelled by the user' }], 'Error'),
            },
          }),
          assistant: { Response: { message_id: null, content: 'ok' } },
        },
      ],
    },
    [
      'user: hi',
      'assistant: calls execute_bash {"command":"ls"}',
      'execute_bash cancelled: Tool use was cancelled by the user',
      'user: stop',
      'assistant: ok',
    ],
  ],
  [
    'results without a call become text, also those that stand first [1.37, 1.38]',
    'amazon-q',
    { ...qState, history: [qHistory[1]] },
    ['user: [result of a tool, without its call] out\n{"k":1}', 'assistant: done'],
  ],
  [
    'a tool that was renamed has its first name [1.40]',
    'paired',
    [
      {
        user: qUser({ Prompt: { prompt: 'hi' } }),
        assistant: {
          ToolUse: {
            message_id: null,
            content: '',
            tool_uses: [{ id: 'a', name: 'dummy', orig_name: 'grep', args: {}, orig_args: { q: 1 } }],
          },
        },
      },
    ],
    ['user: hi', 'assistant: calls grep {"q":1}', 'grep cancelled: This call was cancelled: it did not finish.'],
  ],
  ['a row of the database', 'amazon-q-row', { key: '/p', value: JSON.stringify(qState) }, qShape],
  [
    'a row of the newer database',
    'kiro-row',
    {
      key: '/p',
      conversation_id: 'x',
      value: JSON.stringify({ ...qState, user_turn_metadata: {} }),
      created_at: 1,
      updated_at: 2,
    },
    qShape,
  ],
  [
    'pairs as older versions wrote them, as lists',
    'amazon-q',
    { ...qState, history: qHistory.map(({ user, assistant }) => [user, assistant]) },
    qShape,
  ],
  [
    'rows as a shell prints them',
    'kiro-row',
    [{ key: '/p', conversation_id: 'x', value: JSON.stringify(qState), created_at: 1, updated_at: 2 }],
    qShape,
  ],
  [
    'a request of OpenAI chat without tools',
    'openai-chat',
    { model: 'gpt-x', messages: [{ role: 'user', content: 'hi' }] },
    ['user: hi'],
  ],
  [
    'a data set, of which the first conversation is read',
    'openai-chat',
    lines({ messages: [{ role: 'user', content: 'hi' }] }, { messages: [{ role: 'user', content: 'ho' }] }),
    ['user: hi'],
  ],
  [
    'a request of Ollama without tools',
    'ollama',
    { model: 'llama', messages: [{ role: 'user', content: 'hi' }], options: {} },
    ['user: hi'],
  ],
  [
    'a request of Anthropic without tools',
    'anthropic',
    { model: 'claude-x', max_tokens: 9, messages: [{ role: 'user', content: 'hi' }] },
    ['user: hi'],
  ],
  ['pairs', 'paired', qHistory, qShape],
  [
    'entries with one side',
    'alternating',
    {
      entries: qHistory.flatMap(({ user, assistant }) => [
        { user, assistant: null },
        { user: null, assistant },
      ]),
    },
    qShape,
  ],
  [
    'entries in the words of the design itself',
    'alternating',
    {
      entries: [
        { user: { Prompt: { content: 'hello', timestamp: null } } },
        { assistant: { content: 'ok', tool_uses: null } },
      ],
    },
    ['user: hello', 'assistant: ok'],
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
    'messages of OpenAI chat with all their parts',
    'openai-chat',
    {
      model: 'gpt-x',
      messages: [
        { role: 'developer', content: [{ type: 'text', text: 'Be brief.' }] },
        {
          role: 'user',
          content: [
            { type: 'text', text: 'see' },
            { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } },
            { type: 'input_audio', input_audio: { data: 'AAAA', format: 'wav' } },
            { type: 'file', file: { file_id: 'f' } },
          ],
        },
        {
          role: 'assistant',
          content: null,
          tool_calls: [{ id: 'a', type: 'function', function: { name: 'f', arguments: '{"bad' } }],
        },
        {
          role: 'tool',
          tool_call_id: 'a',
          content: [
            { type: 'text', text: 'x' },
            { type: 'text', text: 'y' },
          ],
        },
        { role: 'assistant', content: null, refusal: 'I must not.' },
      ],
    },
    [
      'system: Be brief.',
      'user: see | [image image/png] | [audio audio/wav]',
      'assistant: calls f {"bad',
      'f ok: x\ny',
      'assistant: I must not.',
    ],
  ],
  [
    'a response of OpenAI chat',
    'openai-chat',
    {
      id: 'c',
      model: 'gpt-x',
      created: 1_700_000_000,
      choices: [{ index: 0, message: { role: 'assistant', content: 'hi' }, finish_reason: 'length' }],
    },
    ['assistant: hi'],
  ],
  [
    'items of OpenAI responses',
    'openai-responses',
    {
      model: 'gpt-x',
      instructions: 'Be brief.',
      input: [
        {
          role: 'user',
          content: [
            { type: 'input_text', text: 'hi' },
            { type: 'input_image', image_url: 'https://example.com/a.png' },
          ],
        },
        { type: 'reasoning', id: 'rs_1', summary: [{ type: 'summary_text', text: 'hm' }], encrypted_content: 'x' },
        { type: 'function_call', id: 'fc_1', call_id: 'call_1', name: 'f', arguments: '{"a":1}', status: 'completed' },
        { type: 'function_call_output', call_id: 'call_1', output: 'one' },
        { type: 'web_search_call', id: 'ws', status: 'completed' },
      ],
      output: [
        {
          type: 'message',
          id: 'msg_1',
          role: 'assistant',
          status: 'completed',
          content: [{ type: 'output_text', text: 'ho', annotations: [] }],
        },
      ],
    },
    [
      'system: Be brief.',
      'user: hi | [image image/*]',
      'assistant: (hm) | calls f {"a":1}',
      'f ok: one',
      'assistant: ho',
    ],
  ],
  ['a text as the input of OpenAI responses', 'openai-responses', { model: 'gpt-x', input: 'hi' }, ['user: hi']],
  [
    'messages of Anthropic',
    'anthropic',
    {
      system: [{ type: 'text', text: 'Be brief.', cache_control: { type: 'ephemeral' } }],
      messages: [
        { role: 'user', content: 'hi' },
        {
          role: 'assistant',
          content: [
            { type: 'thinking', thinking: 'hm', signature: 's' },
            { type: 'text', text: 'I look' },
            { type: 'tool_use', id: 'toolu_1', name: 'f', input: { a: 1 } },
            { type: 'tool_use', id: 'toolu_2', name: 'g', input: {} },
          ],
        },
        {
          role: 'user',
          content: [
            { type: 'tool_result', tool_use_id: 'toolu_1', content: [{ type: 'text', text: 'one' }] },
            { type: 'tool_result', tool_use_id: 'toolu_2', content: 'no', is_error: true },
            { type: 'text', text: 'go on' },
            { type: 'document', source: { type: 'base64', media_type: 'application/pdf', data: 'AAAA' } },
          ],
        },
      ],
    },
    [
      'system: Be brief.',
      'user: hi',
      'assistant: (hm) | I look | calls f {"a":1} | calls g {}',
      'f ok: one',
      'g error: no',
      'user: go on | [file application/pdf]',
    ],
  ],
  [
    'a response of Anthropic',
    'anthropic',
    {
      id: 'msg_1',
      type: 'message',
      role: 'assistant',
      model: 'claude-x',
      content: [{ type: 'text', text: 'hi' }],
      stop_reason: 'max_tokens',
      usage: { input_tokens: 5, output_tokens: 1 },
    },
    ['assistant: hi'],
  ],
  [
    'contents of Gemini, in both spellings',
    'gemini',
    {
      system_instruction: { parts: [{ text: 'Be brief.' }] },
      contents: [
        { role: 'user', parts: [{ text: 'hi' }, { inline_data: { mime_type: 'image/png', data: 'AAAA' } }] },
        {
          role: 'model',
          parts: [
            { text: 'hm', thought: true },
            { functionCall: { name: 'f', args: { a: 1 } }, thoughtSignature: 's' },
            { functionCall: { name: 'f', args: { a: 2 } } },
          ],
        },
        {
          role: 'user',
          parts: [
            { functionResponse: { name: 'f', response: { output: 'one' } } },
            { functionResponse: { name: 'f', response: { error: 'no' } } },
          ],
        },
        { parts: [{ text: 'and?' }] },
      ],
    },
    [
      'system: Be brief.',
      'user: hi | [image image/png]',
      'assistant: (hm) | calls f {"a":1} | calls f {"a":2}',
      'f ok: one',
      'f error: no',
      'user: and?',
    ],
  ],
  [
    'messages of Ollama, whose calls have no ids [2.19]',
    'ollama',
    {
      model: 'llama',
      messages: [
        { role: 'user', content: 'hi', images: ['iVBORw0KGgoAAAA='] },
        {
          role: 'assistant',
          content: '',
          thinking: 'hm',
          tool_calls: [{ function: { name: 'f', arguments: { a: 1 } } }, { function: { name: 'g', arguments: {} } }],
        },
        { role: 'tool', tool_name: 'g', content: 'two' },
        { role: 'tool', tool_name: 'f', content: 'one' },
      ],
    },
    ['user: hi | [image image/png]', 'assistant: (hm) | calls f {"a":1} | calls g {}', 'f ok: one', 'g ok: two'],
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
  [
    'model messages of the AI SDK',
    'ai-sdk',
    [
      { role: 'system', content: 'Be brief.' },
      {
        role: 'user',
        content: [
          { type: 'text', text: 'hi' },
          { type: 'image', image: 'AAAA', mediaType: 'image/png' },
        ],
      },
      {
        role: 'assistant',
        content: [
          { type: 'reasoning', text: 'hm' },
          { type: 'text', text: 'I look' },
          { type: 'tool-call', toolCallId: 'a', toolName: 'f', input: { a: 1 } },
          { type: 'tool-call', toolCallId: 'b', toolName: 'g', input: {} },
        ],
      },
      {
        role: 'tool',
        content: [
          { type: 'tool-result', toolCallId: 'a', toolName: 'f', output: { type: 'json', value: { n: 1 } } },
          { type: 'tool-result', toolCallId: 'b', toolName: 'g', output: { type: 'execution-denied', reason: 'no' } },
        ],
      },
    ],
    [
      'system: Be brief.',
      'user: hi | [image image/png]',
      'assistant: (hm) | I look | calls f {"a":1} | calls g {}',
      'f ok: {"n":1}',
      'g cancelled: no',
    ],
  ],
  [
    'messages of a user interface of the AI SDK',
    'ai-sdk',
    [
      { id: 'u', role: 'user', parts: [{ type: 'text', text: 'hi' }] },
      {
        id: 'a',
        role: 'assistant',
        parts: [
          { type: 'step-start' },
          { type: 'tool-f', toolCallId: '1', state: 'output-available', input: { a: 1 }, output: 'one' },
          { type: 'dynamic-tool', toolName: 'g', toolCallId: '2', state: 'output-error', input: {}, errorText: 'no' },
          { type: 'step-start' },
          { type: 'text', text: 'ho' },
        ],
      },
    ],
    ['user: hi', 'assistant: calls f {"a":1} | calls g {}', 'f ok: one', 'g error: no', 'assistant: ho'],
  ],
]

describe('a conversation', () => {
  test.each(samples)('%s', (_what, format, given, expected) => {
    for (const text of [given, typeof given === 'string' ? given : JSON.stringify(given)]) {
      const read = readConversation(text)
      expect({ format: read.format, messages: shape(read.messages) }).toEqual({ format, messages: expected })
    }
  })

  test('keeps times, ids, models, usage and why replies ended, where the format has them', () => {
    const claude = readConversation({
      id: 'msg_1',
      type: 'message',
      role: 'assistant',
      model: 'claude-x',
      content: [{ type: 'text', text: 'hi' }],
      stop_reason: 'max_tokens',
      usage: { input_tokens: 5, output_tokens: 1 },
    })
    expect(claude.messages[0]).toMatchObject({
      id: 'msg_1',
      model: 'anthropic/claude-x',
      finishReason: 'length',
      usage: { inputTokens: 5, outputTokens: 1 },
    })
    expect(readConversation(qState)).toMatchObject({
      id: qState.conversation_id,
      messages: [{ at: Date.parse('2025-12-29T16:08:02.157Z') }, { id: '3ae5' }, {}, {}],
    })
    expect(readConversation([{ type: 'system', content: 'x', timestamp }]).messages[0]?.at).toBe(Date.parse(timestamp))
  })

  test('with several workers or branches is one of them, and a warning names the others', () => {
    const two = lines(event('prompt_received', { text: 'hi' }), {
      type: 'prompt_received',
      worker_id: 'w-2',
      text: 'ho',
      timestamp: 1,
    })
    expect(readConversation(two)).toMatchObject({ id: 'w-1', warnings: [expect.stringContaining('w-2')] })
    expect(shape(readConversation(two, { conversation: 'w-2' }).messages)).toEqual(['user: ho'])
    const context = fsmContext('Idle')
    const branches = {
      ...context.branches,
      other: { name: 'other', message_ids: ['a'], system_prompt: null, user_prompt: null },
    }
    expect(shape(readConversation({ ...context, branches }, { conversation: 'other' }).messages)).toEqual([
      'user: look',
    ])
    expect(() => readConversation({ ...context, branches }, { conversation: 'none' })).toThrow(
      'branches has no branch "none": it has main, other.',
    )
  })
})

const refusals: readonly [what: string, given: unknown, format: string | undefined, says: string | RegExp][] = [
  ['text that is no JSON', 'hello', undefined, /^the conversation is not JSON: .*\.$/],
  ['nothing', '  ', undefined, 'the conversation is empty.'],
  [
    'JSON of no format',
    { a: 1 },
    undefined,
    /^the format of the conversation was not recognised: name it, one of troupe, /,
  ],
  ['a list without messages', '[]', 'openai-chat', 'the conversation (openai-chat) holds no message.'],
  [
    'a call without a name',
    { messages: [{ role: 'assistant', tool_calls: [{ id: 'a', function: {} }] }] },
    'openai-chat',
    'messages[0].tool_calls[0].function.name is missing: it must be a text.',
  ],
  [
    'a role that is none',
    [{ role: 'robot', content: 'x' }],
    'flat',
    '[0].role must be one of system, user, assistant, tool, not "robot".',
  ],
  [
    'a line whose field is of another sort',
    lines(
      { kind: 'user', data: { type: 'message', content: [] } },
      { kind: 'user', data: { type: 'message', content: [{ type: 'text', text: 5 }] } },
    ),
    undefined,
    'line 2: data.content[0].text must be a text, not 5.',
  ],
  ['a row whose value is no JSON', { key: '/p', value: 'x' }, undefined, /^the conversation is not JSON/],
  [
    'a value that is nested too deeply',
    '['.repeat(200) + ']'.repeat(200),
    undefined,
    'the conversation is nested more than 80 deep.',
  ],
  [
    'a message that is not in the pool',
    { ...fsmContext('Idle'), message_pool: {} },
    'fsm',
    'branches.main.message_ids[0] names the message a, which is not in the pool.',
  ],
]
test.each(refusals)('%s is refused with a sentence', (_what, given, format, says) => {
  expect(() => readConversation(given, { format })).toThrow(says)
})

test('a name of a field that every object has is a field like any other', () => {
  const text =
    '[{"role":"user","content":"hi"},{"role":"assistant","content":null,"tool_calls":[{"id":"__proto__","name":"constructor","arguments":{"__proto__":{"a":1}}}]}]'
  const { messages } = readConversation(text)
  expect(shape(messages)[1]).toBe('assistant: calls constructor {"__proto__":{"a":1}}')
})

test('what is larger than a history takes is made smaller, with a warning', () => {
  const large = 'x'.repeat(3_000_000)
  const image = { type: 'image_url', image_url: { url: `data:image/png;base64,${large}` } }
  const { messages, warnings } = readConversation({
    messages: [
      { role: 'user', content: [{ type: 'text', text: 'see' }, image] },
      {
        role: 'assistant',
        content: null,
        tool_calls: [{ id: 'a', type: 'function', function: { name: 'f', arguments: `{"a":"${large}"}` } }],
      },
      { role: 'tool', tool_call_id: 'a', content: large },
    ],
  })
  expect(shape(messages)[0]).toBe('user: see | [image: image/png]')
  expect(messages.map((message) => JSON.stringify(message).length < 2 ** 20)).toEqual([true, true, true])
  expect(warnings).toEqual([
    'message 0 is larger than 1 MiB: its media became notes.',
    'message 1 is larger than 1 MiB: its texts were cut.',
    'message 2 is larger than 1 MiB: its texts were cut.',
  ])
})

test('a saved file whose history was cleared is read from its transcript, with a warning', () => {
  const transcript = ['> /model', '> look', 'I look.\n[Tool uses: fs_read]', '\n\nIt is empty.\n[Tool uses: none]']
  const { messages, warnings } = readConversation({ ...qState, history: [], transcript })
  expect(shape(messages)).toEqual(['user: look', 'assistant: I look.', 'assistant: It is empty.'])
  expect(warnings).toEqual([expect.stringContaining('the transcript was read')])
  const summarised = readConversation({ ...qState, history: [], transcript, latest_summary: ['so far', {}] })
  expect(shape(summarised.messages)).toEqual(['summary: so far'])
})

test('a name that OpenAI would refuse is written without the signs that it refuses', () => {
  const said = [chat.user('hi', { name: 'Ada <ada@x> \\ 1' })]
  expect(JSON.parse(writeConversation(said, 'openai-chat').text)).toMatchObject({
    messages: [{ name: 'Ada__ada@x____1' }],
  })
})

test('of several rows, one must be named', () => {
  const rows = ['/a', '/b'].map((key) => ({ key, value: JSON.stringify(qState) }))
  expect(() => readConversation(rows)).toThrow('there are 2 rows. Name the conversation of one of them: /a, /b.')
  expect(readConversation(rows, { conversation: '/b' }).title).toBe('/b')
})
