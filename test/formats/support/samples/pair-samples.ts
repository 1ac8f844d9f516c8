/** Conversations that are kept as pairs of a user and an assistant, as Amazon Q writes them. */
import type { Sample } from './sample.ts'

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
export const qState = {
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

export const pairSamples: readonly Sample[] = [
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
  ['a text as the input of OpenAI responses', 'openai-responses', { model: 'gpt-x', input: 'hi' }, ['user: hi']],
]
