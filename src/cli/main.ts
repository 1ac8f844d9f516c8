#!/usr/bin/env node
/** The command line of troupe. Ends the process itself: a worker file of the user may have left a timer or a connection open. */
import { flush, surviveClosedPipes } from './output.ts'
import { runCommandLine } from './program.ts'

surviveClosedPipes()
const exitCode = await runCommandLine(process.argv.slice(2))
await flush()
process.exit(exitCode)
