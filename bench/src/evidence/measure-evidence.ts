import { join } from 'node:path'
import { permissionsOf } from '../../../server/src/identity/roles.ts'
import { openDataDirectory } from '../../../server/src/operations/storage/data-directory.ts'
import { measureCases, type Run, type Subject } from '../figures/subject.ts'
import { fillDataDirectory } from '../fill/fill-data-directory.ts'
import { fillMember } from '../fill/fill-organization.ts'
import { fillRecords, growRecords, startOfDay } from './fill-records.ts'
import { measureAudit, type Audited } from './measure-audit.ts'
import { measureIngest } from './measure-ingest.ts'
import { measureReplay } from './measure-replay.ts'

const FULL = {
  ingest: { rounds: 5, forMs: 15_000, recordsPerSecond: 5_000 },
  records: { tuples: 200_000, users: 1_000, records: 10_000_000 },
  replays: 3,
} as const

const QUICK = {
  ingest: { rounds: 1, forMs: 3_000, recordsPerSecond: 5_000 },
  records: { tuples: 5_000, users: 50, records: 50_000 },
  replays: 1,
} as const

export const evidence: Subject = {
  name: 'evidence',
  about: 'uploads of decision records beside polls, audit queries and replay of ten million',
  minutes: 10,
  cases: ['ingest', 'audit', 'replay'],
  measure(run) {
    const { ingest, records, replays } = run.quick ? QUICK : FULL
    const stored = storeOnce(run, records)
    return measureCases(run, {
      ingest: () => measureIngest(run.folder, ingest),
      audit: async () => measureAudit(await stored()),
      replay: async () => measureReplay(await stored(), replays),
    })
  },
}

const SHAPE = { policies: 1, rulesPerPolicy: 1, editors: 0, devices: 0 } as const

/** The records that audit and replay read, stored when the first of them asks. */
function storeOnce(
  { folder, tell }: Run,
  { tuples, users, records }: (typeof FULL | typeof QUICK)['records'],
): () => Promise<Audited> {
  let stored: Promise<Audited> | null = null
  const store = async (): Promise<Audited> => {
    const dataDir = join(folder, 'records')
    const [filled] = await fillDataDirectory(dataDir, 'recorded', 1, SHAPE)
    const org = filled?.org ?? ''
    const nowMs = startOfDay()
    tell(`storing ${records} records`)
    const nameUser = (user: number): string => `user-${user}`
    await fillRecords(dataDir, { tuples, users }, { org, nowMs, nameUser })
    growRecords(dataDir, tuples, { records, nowMs })
    return { dataDir, org, nowMs, users, auditor: await addAuditor(dataDir, org) }
  }
  return () => (stored ??= store())
}

async function addAuditor(dataDir: string, org: string): Promise<Audited['auditor']> {
  const role = 'auditor'
  const store = openDataDirectory(dataDir)
  try {
    return await store.transaction((writer) =>
      fillMember(writer, { org, username: role, role, permissions: permissionsOf(role) }),
    )
  } finally {
    await store.close()
  }
}
