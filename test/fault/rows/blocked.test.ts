/** F09, I5, I14: handlers that block the event loop of their process for longer than its leases. */
import { blockedRow } from '../../faults/rows/node/blocked.ts'
import { testRow } from '../../support/fault/row-tests.ts'

testRow(blockedRow)
