/** F34: a long conversation is taken over by a node that knows nothing of it. The long form is `npm run faults -- --only F34`. */
import { longHistoryRow } from '../../faults/rows/work/long-histories.ts'
import { testRow } from '../../support/fault/row-tests.ts'

testRow(longHistoryRow)
