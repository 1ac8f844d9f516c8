/** F08, K14: harm to the queue of wake-ups. */
import { sabotageRow } from '../../faults/rows/sabotage.ts'
import { testRow } from '../../support/fault/row-tests.ts'

testRow(sabotageRow)
