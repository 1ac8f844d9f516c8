/** No way to give a model the result of a call writes a secret of the process into the history. */
import { expect, test } from 'vitest'
import { z } from 'zod'
import type { ToolResolver } from '../../../../../src/core/definition/agent/tool-resolver.ts'
import { defineWorker } from '../../../../../src/core/definition/define-worker.ts'
import { defineTool, type Tool } from '../../../../../src/core/definition/tool/define-tool.ts'
import { rememberSecret } from '../../../../../src/core/secret/known-secrets.ts'
import { call, say } from '../../../../../src/models/local/scripted-model.ts'
import { testAgent } from '../../../../../src/testing/test-worker.ts'

const secret = 'canary-in-a-result'
rememberSecret(secret)

const thrower = () => {
  throw new Error(secret)
}
const read = defineTool({ name: 'read', description: 'r', effect: 'pure', input: z.object({}), run: () => 1 })
const step = { tool: read, arguments: {} }
const made = (more: object) => defineTool({ name: 'made', description: 'm', input: z.object({}), ...more } as never)
const recipe = (plan: object) => made({ recipe: () => plan })
const resolving = (resolve: ToolResolver['resolve']): ToolResolver => ({ availableTools: () => [read], resolve })

test.each<[string, Tool | ToolResolver]>([
  ['the name of a field', made({ effect: 'pure', run: () => ({ [secret]: 1 }) })],
  ['the label of a step', recipe({ serial: [{ ...step, label: secret }] })],
  ['what a recipe composes', recipe({ serial: [step], compose: () => ({ of: [secret] }) })],
  ['what composing throws', recipe({ serial: [step], compose: thrower })],
  ['what the arguments of a step throw', recipe({ serial: [{ tool: read, arguments: thrower }] })],
  ['why a resolver refuses', resolving(() => ({ refuse: secret }))],
  ['what a resolver throws', resolving(thrower)],
  ['what a rule of approvals throws', made({ effect: 'once', approval: thrower, run: () => secret })],
])('%s becomes part of the history without a secret', async (_, one) => {
  const tools = 'resolve' in one ? one : [one, read]
  const worker = defineWorker({ instructions: 'x', tools })
  const { history } = await testAgent(worker, {
    input: 'go',
    replies: [call('made'), say('Done.')],
    answers: () => ({ decision: 'approve' }),
  })
  expect(JSON.stringify(history)).toContain('[redacted]')
  expect(JSON.stringify(history)).not.toContain(secret)
})

test('a recipe that composes what has no JSON form has failed', async () => {
  const worker = defineWorker({
    instructions: 'x',
    tools: [read, recipe({ serial: [step], compose: () => new Map() })],
  })
  const { history } = await testAgent(worker, { input: 'go', replies: [call('made'), say('Done.')] })
  expect(history.find(({ type }) => type === 'toolResult')).toMatchObject({
    status: 'error',
    output: { type: 'error-text' },
  })
})
