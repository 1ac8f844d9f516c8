import { describe, expect, it } from 'vitest'
import { endWith, exitCodeOfSignal, takeExitCode, toComplaint, Unanswered } from '../../src/cli/exit-code.ts'
import { asksForJson } from '../../src/cli/program.ts'
import * as errors from '../../src/core/errors.ts'
import { RedisUnavailableError } from '../../src/dev/redis-unavailable.ts'
import { storeError } from '../../src/store/redis/store-error.ts'

describe('toComplaint', () => {
  it.each([
    [new errors.ConfigError('x'), 'config_invalid', 2],
    [new errors.InputError('x'), 'input_invalid', 2],
    [new errors.NotFoundError('kind_unknown', 'x'), 'kind_unknown', 2],
    [new errors.NotFoundError('session_not_found', 'x'), 'session_not_found', 1],
    [new errors.NotFoundError('worker_not_found', 'x'), 'worker_not_found', 1],
    [new errors.ConflictError('session_finished', 'x'), 'session_finished', 1],
    [new errors.LimitError('mailbox_full', 'x'), 'mailbox_full', 1],
    [new errors.TransientError('x', { code: 'store_unavailable' }), 'store_unavailable', 69],
    [new errors.TransientError('x', { code: 'store_refused' }), 'store_refused', 69],
    [new RedisUnavailableError('x'), 'store_unavailable', 69],
  ])('gives %o its code and exit code', (thrown, code, exitCode) => {
    expect(toComplaint(thrown)).toMatchObject({ code, message: 'x', exitCode, stack: undefined })
  })

  it.each([
    [new errors.NotFoundError('session_not_found', 'x'), 66],
    [new errors.InvariantError('x'), 70],
    [new errors.InputError('x'), 2],
    [new errors.TransientError('x', { code: 'store_unavailable' }), 69],
  ])('gives %o an exit code other than 1 where 1 is an answer', (cause, exitCode) => {
    const { code, message } = toComplaint(cause)
    expect(toComplaint(new Unanswered(cause))).toMatchObject({ code, message, exitCode })
  })

  it('names the current folder if it does not exist any more', () => {
    const gone = Object.assign(new Error('ENOENT: no such file'), { code: 'ENOENT', syscall: 'uv_cwd' })
    const message = 'the current folder does not exist any more (ENOENT): change to another folder.'
    expect(toComplaint(gone)).toEqual({ code: 'input_invalid', message, exitCode: 2, stack: undefined })
    const other = Object.assign(new Error('no such file'), { code: 'ENOENT', syscall: 'open' })
    expect(toComplaint(other)).toMatchObject({ code: 'bug', message: 'no such file', exitCode: 1 })
  })

  it.each([
    ['EMFILE', 'this process'],
    ['ENFILE', 'this machine'],
  ])('asks for a higher limit of open files at %s, which is no fault of troupe', (code, whose) => {
    const full = Object.assign(new Error(`${code}: too many open files, open 'x.js'`), { code, syscall: 'open' })
    const message = `${whose} may open no more files (${code}): raise the limit (ulimit -n, LimitNOFILE of systemd, fs.file-max).`
    expect(toComplaint(full)).toEqual({ code: 'config_invalid', message, exitCode: 2, stack: undefined })
  })

  it('reports the first error, not an error of closing', () => {
    const suppressed = new SuppressedError(new Error('while closing'), new errors.InputError('x'))
    expect(toComplaint(suppressed)).toMatchObject({ code: 'input_invalid', message: 'x', exitCode: 2 })
  })

  it('a refusal of Redis is not called a fault of troupe', () => {
    const refused = Object.assign(new Error('OOM command not allowed'), { name: 'ReplyError' })
    const message = 'Redis refused a command: OOM command not allowed.'
    expect(toComplaint(refused)).toEqual({ code: 'store_refused', message, exitCode: 69, stack: undefined })
  })

  it('keeps the line breaks of a message about a missing Redis', () => {
    expect(toComplaint(new RedisUnavailableError('none:\nits log'))).toMatchObject({ hasLines: true })
    expect(toComplaint(new errors.InputError('x'))).not.toHaveProperty('hasLines')
  })

  it('wrong data of another program is not called a fault of troupe', () => {
    const thrown = storeError(new Error('DAMAGED key {troupe.0}:meta should be a hash'), 'checking the set-up')
    const message = expect.stringMatching(/key \{troupe\.0\}:meta should be a hash.* Another program wrote it/)
    expect(toComplaint(thrown)).toEqual({ code: 'bug', message, exitCode: 1, stack: undefined })
  })

  it('keeps the stack of an error that may be a fault of troupe', () => {
    expect(toComplaint(new errors.InvariantError('x'))).toMatchObject({
      code: 'bug',
      exitCode: 1,
      stack: expect.stringContaining('x'),
    })
    expect(toComplaint(new TypeError('x'))).toMatchObject({
      code: 'bug',
      exitCode: 1,
      stack: expect.stringContaining('TypeError'),
    })
    expect(toComplaint('x')).toMatchObject({ code: 'bug', message: 'x', exitCode: 1 })
    expect(toComplaint(new Error())).toMatchObject({ message: 'something was thrown without a message' })
  })
})

describe('exitCodeOfSignal', () => {
  it('exitCodeOfSignal is 128 and the number of the signal', () => {
    expect(['SIGHUP', 'SIGINT', 'SIGTERM'].map((signal) => exitCodeOfSignal(signal as 'SIGINT'))).toEqual([
      129, 130, 143,
    ])
  })
})

it('the exit code of a command is not that of the next one', () => {
  endWith(1)
  expect([takeExitCode(), takeExitCode()]).toEqual([1, 0])
})

it('--json behind -- is an argument, and asks for nothing', () => {
  expect(asksForJson(['send', 'x', '--json'])).toBe(true)
  expect(asksForJson(['send', 'x', '--', '--json'])).toBe(false)
})
