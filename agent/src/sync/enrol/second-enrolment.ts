import { readPrivateFile } from '@palisade/client'
import { keptEnrolmentSchema, parseJson, type Enrolment } from '@palisade/protocol'
import { join } from 'node:path'
import type { AgentConfig } from '../../host/config/config.ts'
import type { ActivePolicy } from '../../policy/decision/active-policy.ts'

const MAX_BYTES = 65_536

/** Path of the enrolment unless PALISADE_ENROLMENT names another. */
export function usualEnrolmentPath({ agentDir }: Pick<AgentConfig, 'agentDir'>): string {
  return join(agentDir, 'enrolment.json')
}

/** Checks whether another organization claims the machine as well, and applies the result. */
export function createConflictCheck(
  config: Pick<AgentConfig, 'agentDir' | 'enrolmentPath'>,
  enrolment: Pick<Enrolment, 'org'>,
  active: Pick<ActivePolicy, 'apply'>,
): () => Promise<void> {
  return async () => {
    const isSecond = await hasSecondEnrolment(config, enrolment)
    active.apply({ kind: isSecond ? 'second_enrolment' : 'single_enrolment' })
  }
}

/**
 * Whether another organization claims this machine as well. If PALISADE_ENROLMENT names another
 * path, the default path in the data directory must not hold an enrolment of another organization.
 * An unreadable file there counts as a claim, because it may be one.
 */
async function hasSecondEnrolment(
  { agentDir, enrolmentPath }: Pick<AgentConfig, 'agentDir' | 'enrolmentPath'>,
  { org }: Pick<Enrolment, 'org'>,
): Promise<boolean> {
  const other = usualEnrolmentPath({ agentDir })
  if (other === enrolmentPath) return false
  const file = await readPrivateFile(other, MAX_BYTES)
  if (!file.ok) return file.code !== 'ENOENT'
  const json = parseJson(file.text)
  const parsed = json.ok ? keptEnrolmentSchema.safeParse(json.value) : null
  return parsed?.success !== true || parsed.data.org !== org
}
