/** Whether a call runs, is asked about or is denied: every combination of tool, rules and policy (APPROVAL-1 to APPROVAL-3). */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { ApprovalRule, ApprovalRules } from '../../../../src/core/definition/agent/approval-rules.ts'
import type { ApprovalContext } from '../../../../src/core/definition/tool/define-tool.ts'
import {
  decideApproval,
  isDangerous,
  type JudgedCall,
  type JudgedTool,
} from '../../../../src/core/worker/ask/approval.ts'
import { type ApprovalPolicy, approvalPolicies } from '../../../../src/core/worker/ask/session-approval.ts'

type LogLine = readonly [message: string, fields: Record<string, unknown> | undefined]

function contextWith(lines: LogLine[] = []): ApprovalContext {
  const note = (message: string, fields?: Record<string, unknown>) => void lines.push([message, fields])
  const log = { debug: note, info: note, warn: note, error: note }
  const ids = { workerId: 'w', sessionId: 's', toolCallId: 'call-1', depth: 2 }
  return { ...ids, limits: {} as ApprovalContext['limits'], input: 'go', log, facts: {} }
}

function decide(
  call: Partial<Omit<JudgedCall, 'tool'>> & { readonly tool: Partial<JudgedTool> },
  lines: LogLine[] = [],
) {
  const tool = { name: 'act', effect: 'once', ...call.tool } as JudgedTool
  return decideApproval({ input: {}, policy: 'manual', trusted: [], context: contextWith(lines), ...call, tool })
}

/** What the designs expect, written as they say it, and not as the code does it. */
function expected(
  policy: ApprovalPolicy,
  effect: string,
  says: string,
  danger: boolean,
  trusts: boolean,
  applying: string,
) {
  if (applying.includes('deny')) return 'deny'
  if (policy === 'readOnly' && effect !== 'pure') return 'deny'
  if (danger) return 'ask'
  if (policy === 'auto' || trusts || applying.includes('allow')) return 'run'
  if (applying.includes('ask')) return 'ask'
  const byDefault = effect === 'once' ? 'ask' : 'run'
  return { absent: byDefault, never: 'run', always: 'ask', 'function true': 'ask', 'function false': 'run' }[says]
}

const approvals = {
  absent: undefined,
  never: 'never',
  always: 'always',
  'function true': () => true,
  'function false': () => false,
} as const
const ruleSets = ['none', 'deny', 'ask', 'allow', 'deny ask', 'deny allow', 'ask allow', 'deny ask allow']

describe('every combination of policy, effect, tool, danger, trust and rules', () => {
  const rows = approvalPolicies.flatMap((policy) =>
    (['pure', 'idempotent', 'once'] as const).flatMap((effect) =>
      (Object.keys(approvals) as (keyof typeof approvals)[]).map((says) => [policy, effect, says] as const),
    ),
  )
  test.each(rows)('policy %s, a tool of effect %s, approval %s', (policy, effect, says) => {
    for (const danger of [false, true]) {
      if (danger && says === 'never') continue
      for (const trusts of [false, true]) {
        for (const applying of ruleSets) {
          const rules = Object.fromEntries(
            ['deny', 'ask', 'allow'].map((list) => [list, ['other_*', ...(applying.includes(list) ? ['a*'] : [])]]),
          )
          const tool = { name: 'act', effect, approval: approvals[says], dangerous: danger } as JudgedTool
          const verdict = decide({ tool, policy, trusted: trusts ? ['act'] : ['other'], rules })
          const where = `danger ${danger}, trusts ${trusts}, rules ${applying}`
          expect(`${where}: ${verdict.do}`).toBe(
            `${where}: ${expected(policy, effect, says, danger, trusts, applying)}`,
          )
          const eachTime = verdict.do === 'ask' && verdict.eachTime
          expect(eachTime).toBe(verdict.do === 'ask' && danger)
          expect(verdict.do === 'run' || verdict.why !== '').toBe(true)
        }
      }
    }
  })
})

describe('globs over names of tools', () => {
  test.each([
    ['delete_*', 'delete_file', true],
    ['delete_*', 'undelete_file', false],
    ['*', 'anything-at_all', true],
    ['{read,list}_*', 'list_files', true],
    ['read_?', 'read_12', false],
    ['docs__*', 'docs__search', true],
    ['{read,list}_*', 'read_', true],
    ['{read*,l?st}_a', 'readers_a', true],
    ['a*b*c', 'a-x-b-c', true],
    ['Act', 'act', false],
    ['act', 'act', true],
    ['act', 'action', false],
  ])('the glob %s and the name %s: %s', (glob, name, applies) => {
    expect(decide({ tool: { name }, rules: { deny: [glob] } }).do).toBe(applies ? 'deny' : 'ask')
  })
})

describe('a rule with `when`', () => {
  const inTmp = { tool: 'act', when: (input: { path: string }) => input.path.startsWith('/tmp/') }

  test('a rule with `when` applies to the calls for whose arguments it returns true', () => {
    const rules = { allow: [inTmp] }
    expect(decide({ tool: {}, input: { path: '/tmp/a' }, rules }).do).toBe('run')
    expect(decide({ tool: {}, input: { path: '/etc/a' }, rules }).do).toBe('ask')
  })

  const promise = () => Promise.reject(new Error('late')) as unknown as boolean
  const throws = () => {
    throw new Error('no path')
  }
  const broken = {
    'that throws': throws,
    'that returns a promise': promise,
    'that returns a text': () => 'yes' as never,
  }

  for (const [name, when] of Object.entries(broken)) {
    const rule: ApprovalRule = { tool: 'act', when }
    test.each<[string, ApprovalRules, ApprovalPolicy, string]>([
      ['asks in place of a denial', { deny: [rule] }, 'manual', 'ask'],
      ['asks in place of a denial under auto', { deny: [rule], allow: ['act'] }, 'auto', 'ask'],
      ['is denied by another rule all the same', { deny: [rule, 'act'] }, 'manual', 'deny'],
      ['is denied in a session that is readOnly', { deny: [rule] }, 'readOnly', 'deny'],
      ['asks in place of allowing', { allow: [rule] }, 'manual', 'ask'],
      ['is allowed by another rule all the same', { allow: [rule, 'act'] }, 'manual', 'run'],
      ['asks where it might not have asked', { ask: [rule] }, 'manual', 'ask'],
    ])(`${name} %s`, (_, rules, policy, verdict) => {
      const lines: LogLine[] = []
      expect(decide({ tool: { approval: 'never' }, rules, policy, trusted: [] }, lines).do).toBe(verdict)
      expect(lines[0]?.[0]).toContain('for call call-1')
    })
  }

  test('a rule whose `when` throws is logged with the place in its code', () => {
    const lines: LogLine[] = []
    decide({ tool: {}, rules: { allow: [{ tool: 'act', when: throws }] } }, lines)
    expect(lines).toHaveLength(1)
    expect(lines[0]?.[0]).toMatch(
      /^approval\.allow\[0\]\.when threw for call call-1 at \S*test\/core\/worker\/ask\/approval\.test\.ts:\d+:\d+: a person is asked$/,
    )
    expect(lines[0]?.[1]).toMatchObject({ error: 'Error: no path', toolCallId: 'call-1' })
  })

  test('a rule with `when` cannot change the arguments that it decides about (APPROVAL-3)', () => {
    const input = { path: '/tmp/a', list: [1] }
    const when = (given: { path: string; list: number[] }) => {
      given.list.push(2)
      return true
    }
    expect(decide({ tool: {}, input, rules: { allow: [{ tool: 'act', when }] } }).do).toBe('ask')
    expect(input).toEqual({ path: '/tmp/a', list: [1] })
    expect(Object.isFrozen(input)).toBe(false)
  })

  test('a rule for a tool that is called seldom costs other tools nothing', () => {
    const rules = { deny: [{ tool: 'other', when: throws }] }
    expect(decide({ tool: { approval: 'never' }, rules }).do).toBe('run')
  })
})

describe('the approval function of a tool', () => {
  test('the approval function of a tool gets the arguments and the context of the call', () => {
    const approval = (input: { to: string }, context: ApprovalContext) => input.to !== 'me' || context.depth > 2
    const tool = { approval } as unknown as JudgedTool
    expect(decide({ tool, input: { to: 'me' } }).do).toBe('run')
    expect(decide({ tool, input: { to: 'you' } }).do).toBe('ask')
  })

  test('a deny rule that cannot decide asks each time, even about a tool that is trusted, as of a dangerous tool', () => {
    const when = () => {
      throw new Error('odd')
    }
    const asked = { do: 'ask', eachTime: true }
    expect(decide({ tool: {}, trusted: ['act'], rules: { deny: [{ tool: 'act', when }] } })).toMatchObject(asked)
    expect(decide({ tool: { dangerous: true }, trusted: ['act'] })).toMatchObject(asked)
    expect(decide({ tool: {}, rules: { ask: ['act'] } })).toMatchObject({ do: 'ask', eachTime: false })
  })

  test('an approval function that throws asks, and is logged (APPROVAL-2)', () => {
    const lines: LogLine[] = []
    const approval = () => {
      throw new TypeError('undefined is odd')
    }
    expect(decide({ tool: { approval } }, lines)).toMatchObject({
      do: 'ask',
      why: 'approval of tool "act" could not decide',
    })
    expect(lines[0]?.[0]).toMatch(/^approval of tool "act" threw for call call-1 at \S*approval/)
  })
})

describe('a tool is dangerous', () => {
  test.each<[Partial<JudgedTool>, boolean]>([
    [{ name: 'delete_file' }, true],
    [{ name: 'execute_command' }, true],
    [{ name: 'write_file', effect: 'idempotent' }, true],
    [{ name: 'bulkModify' }, true],
    [{ name: 'read_deleted', effect: 'pure' }, false],
    [{ name: 'write_file', dangerous: false }, false],
    [{ name: 'write_file', approval: 'never' }, false],
    [{ name: 'write_file', approval: () => false }, true],
    [{ name: 'send_mail' }, false],
    [{ name: 'send_mail', dangerous: true }, true],
    [{ name: 'read_file', effect: 'pure', dangerous: true }, true],
  ])('%o: %s', (tool, dangerous) => {
    expect(isDangerous({ name: 'act', effect: 'once', ...tool })).toBe(dangerous)
  })
})

test('the order of the rules within a list changes nothing, and rules about other tools change nothing', () => {
  const names = ['act', 'send', 'look']
  const rule = fc.oneof(
    fc.constantFrom('a*', 'act', 'send', '*', 'look', 's*'),
    fc.record({
      tool: fc.constantFrom('act', '*', 'send'),
      when: fc.constantFrom(
        () => true,
        () => false,
        () => {
          throw new Error('x')
        },
      ),
    }),
  )
  const lists = fc.record({ deny: fc.array(rule), ask: fc.array(rule), allow: fc.array(rule) })
  const others = ['other', 'o*']
  fc.assert(
    fc.property(
      lists,
      fc.constantFrom(...names),
      fc.constantFrom<JudgedTool['effect']>('pure', 'idempotent', 'once'),
      fc.constantFrom(...approvalPolicies),
      fc.subarray(names),
      (rules, name, effect, policy, trusted) => {
        const call = { tool: { name, effect }, policy, trusted }
        const verdict = decide({ ...call, rules }).do
        const mixed = Object.fromEntries(
          Object.entries(rules).map(([list, all]) => [list, [...others, ...all.toReversed()]]),
        )
        expect(decide({ ...call, rules: mixed }).do).toBe(verdict)
        // A deny rule for all is never overruled; and without deny and danger, auto lets all run.
        expect(decide({ ...call, rules: { ...rules, deny: [...rules.deny, '*'] } }).do).toBe('deny')
        expect(decide({ ...call, policy: 'auto', rules: { ...rules, deny: [] } }).do).toBe('run')
        // A further ask rule makes nothing run that did not, and a further allow rule denies nothing.
        const rank = { deny: 0, ask: 1, run: 2 }
        const more = decide({ ...call, rules: { ...rules, ask: [...rules.ask, name] } }).do
        expect(rank[more]).toBeLessThanOrEqual(rank[verdict])
        const allowing = decide({ ...call, rules: { ...rules, allow: [...rules.allow, name] } }).do
        expect(rank[allowing]).toBeGreaterThanOrEqual(rank[verdict])
      },
    ),
  )
})
