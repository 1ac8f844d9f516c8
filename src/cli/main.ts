#!/usr/bin/env node
/**
 * The command line of troupe. A Node that is too old can neither read the syntax of the rest nor has all its functions, so this file checks the Node
 * before it loads them. What it imports itself must run on any Node from 20 on.
 */
import type { ConfigError } from '../core/errors.ts'
import { checkNode } from '../node-version.ts'

const problem = problemOfNode()
if (problem === undefined) await import('./command-line.ts')
else {
  process.stderr.write(`troupe: ${problem.message}\n`)
  if (process.argv.includes('--json'))
    process.stdout.write(`${JSON.stringify({ type: 'error', code: problem.code, message: problem.message })}\n`)
  process.exitCode = 2
}

function problemOfNode(): ConfigError | undefined {
  try {
    checkNode()
    return undefined
  } catch (thrown) {
    return thrown as ConfigError
  }
}
