#!/usr/bin/env node
/**
 * The command line of troupe. It ends the process itself, since a worker file of the user may have left a timer or a connection
 * open; and what such a file prints goes to stderr, since stdout is data.
 */
import { Console } from 'node:console'
import { exitCodes } from './exit-code.ts'
import { flush, surviveClosedPipes } from './output.ts'
import { runCommandLine } from './program.ts'

surviveClosedPipes()
globalThis.console = new Console(process.stderr)
const exitCode = await runCommandLine(process.argv.slice(2))
const isWritten = await flush()
process.exit(isWritten ? exitCode : exitCode || exitCodes.failed)
