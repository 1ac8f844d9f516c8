/** F14, K11: the replies of each script are lost under load, three of each. */
import { lostReplyRow } from '../../faults/rows/redis/lost-replies.ts'
import { testRow } from '../../support/fault/row-tests.ts'

testRow(lostReplyRow)
