/** Requests and replies of providers. */
import { lines, type Sample } from './sample.ts'

export const providerSamples: readonly Sample[] = [
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
