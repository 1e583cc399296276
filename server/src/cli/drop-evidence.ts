import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { Config } from '../config/config.ts'
import type { EvidenceStore } from '../evidence/store/evidence-store.ts'
import { EVIDENCE_FILE, openEvidenceStore } from '../evidence/store/open-evidence-store.ts'
import { createAuditedStore } from '../history/audit/audited-store.ts'
import { OPERATOR } from '../history/author.ts'
import { CommandFailure } from '../platform/command-failure.ts'
import type { Sources } from '../platform/sources.ts'
import { withStore } from './with-store.ts'

export interface DropEvidenceOptions {
  readonly org: string
  readonly device?: string
  readonly json?: true
}

/**
 * `evidence drop`. The event comes first, so that every removal has one, except that of a former
 * organization, which has no history here.
 */
export async function dropEvidenceCommand(
  config: Config,
  sources: Pick<Sources, 'now'>,
  { org, device, json }: DropEvidenceOptions,
): Promise<void> {
  if (!isEvidenceThere(config))
    throw new CommandFailure('refused', `there is no \`${EVIDENCE_FILE}\` in \`${config.dataDir}\``)
  await withStore(config, 'existing', async (store) => {
    const found = await store.read(async ({ organizations, devices }) => ({
      org: await organizations.find(org),
      device: device === undefined ? null : await devices.find(org, device),
    }))
    if (found.org === null) {
      if (device === undefined && (await hasRecords(config, org))) return
      throw new CommandFailure('refused', `there is no organization \`${org}\``)
    }
    if (device !== undefined && found.device === null)
      throw new CommandFailure('refused', `\`${org}\` has no device \`${device}\``)
    const audited = createAuditedStore({ store, now: sources.now })
    await audited.note(OPERATOR, {
      scope: { org },
      kind: 'evidence.dropped',
      subject: { id: device ?? org, name: found.device?.username ?? org },
      before: null,
      after: device === undefined ? {} : { device_id: device },
    })
  })
  const removed = await withEvidence(config, (evidence) =>
    evidence.dropOwned({ org, deviceId: device ?? null }),
  )
  process.stdout.write(
    json === true
      ? `${JSON.stringify({ org, device: device ?? null, removed })}\n`
      : `${removed} decision records of \`${device ?? org}\` removed\n`,
  )
}

/** Whether there are decision records under the name of the organization. */
export async function hasRecords(config: Config, org: string): Promise<boolean> {
  if (!isEvidenceThere(config)) return false
  return (await withEvidence(config, (evidence) => evidence.firstDay(org))) !== null
}

function isEvidenceThere({ databaseUrl, dataDir }: Config): boolean {
  return databaseUrl !== null || existsSync(join(dataDir, EVIDENCE_FILE))
}

async function withEvidence<T>(
  config: Config,
  work: (evidence: EvidenceStore) => Promise<T>,
): Promise<T> {
  const evidence = await openEvidenceStore(config)
  try {
    return await work(evidence)
  } finally {
    await evidence.close()
  }
}
