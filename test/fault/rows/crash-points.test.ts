/** F03: a process dies at each named moment, once. */
import { crashPointRow } from '../../faults/rows/node/crash-points.ts'
import { testRow } from '../../support/fault/row-tests.ts'

testRow(crashPointRow)
