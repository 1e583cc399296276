import { join } from 'node:path'
import { openSqliteEvidence } from '../../../../server/src/evidence/store/sqlite/open-sqlite-evidence.ts'
import { temporaryDirectory } from '../../temporary-directory.ts'
import { describeEvidence } from './evidence-conformance.ts'

describeEvidence('the SQLite evidence', () => {
  const path = join(temporaryDirectory(), 'evidence.db')
  return () => openSqliteEvidence(path)
})
