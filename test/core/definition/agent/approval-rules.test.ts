/** Rules of a kind are checked when it is defined, and the error names the rule. */
import { describe, expect, test } from 'vitest'
import { defineWorker } from '../../../../src/core/definition/define-worker.ts'
import { defineTool } from '../../../../src/core/definition/tool/define-tool.ts'
import { ConfigError } from '../../../../src/core/errors.ts'

const pay = defineTool({ name: 'pay', description: 'Pays.', effect: 'once', run: () => null })
const define = (approval: unknown) => defineWorker({ instructions: 'x', tools: [pay], approval: approval as never })

test.each([
  [undefined],
  [{}],
  [{ deny: ['delete_*'], ask: ['pay'], allow: ['*', { tool: 'p?y', when: () => true }], onDeny: 'others' }],
  [{ deny: ['spawn_workers'] }],
  [{ onDeny: 'none' }],
])('%o are rules of a kind', (approval) => {
  expect(define(approval).approval).toEqual(approval)
})

describe('wrong rules', () => {
  test.each<[unknown, string]>([
    ['auto', 'approval of an agent takes an object with deny, ask, allow, onDeny'],
    [{ denied: [] }, 'approval of an agent does not know the option "denied"'],
    [{ deny: 'pay' }, 'deny of approval of an agent must be a list of rules, like ["delete_*"], not "pay".'],
    [{ onDeny: 'all' }, 'onDeny of approval of an agent must be one of none, others, not "all".'],
    [{ ask: [7] }, 'approval.ask[0] must be a glob over names of tools'],
    [{ ask: ['pay', ''] }, 'approval.ask[1] has "", which is no glob over names of tools: use letters, digits,'],
    [{ ask: ['!pay'] }, 'approval.ask[0] has "!pay", which is no glob'],
    [{ ask: ['/pay/'] }, 'approval.ask[0] has "/pay/", which is no glob'],
    [{ ask: ['{pay'] }, 'approval.ask[0] has "{pay", which is no glob'],
    [{ deny: [{ tool: 'a.*', when: () => true }] }, 'approval.deny[0] has "a.*", which is no glob'],
    [{ allow: [{ tool: 'pay' }] }, 'approval.allow[0].when must be a function of the arguments'],
    [{ allow: [{ when: () => true }] }, 'approval.allow[0] must be a glob over names of tools'],
    [{ allow: [{ tool: 'pay', wen: 1 }] }, 'approval.allow[0] may hold tool and when, not "wen". Did you mean when?'],
    [
      { deny: ['pai'] },
      'approval.deny[0] names the tool "pai", which this kind does not have; it has pay, spawn_workers, send_message, list_tasks, ask_person, read_result, read_skill. Did you mean pay?',
    ],
  ])('%o throw a ConfigError that names the wrong part', (approval, message) => {
    expect(() => define(approval)).toThrow(ConfigError)
    expect(() => define(approval)).toThrow(message)
  })
})

test('a handler has no rules', () => {
  expect(() => defineWorker({ receive: () => {}, approval: {} } as never)).toThrow(
    'defineWorker does not know the field "approval" of a handler',
  )
})
