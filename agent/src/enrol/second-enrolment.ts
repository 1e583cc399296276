import { readPrivateFile } from '@palisade/client'
import { keptEnrolmentSchema, parseJson, type Enrolment } from '@palisade/protocol'
import { join } from 'node:path'
import type { AgentConfig } from '../config/config.ts'
import type { ActivePolicy } from '../decision/active-policy.ts'

const MAX_BYTES = 65_536

/** Where the enrolment is unless PALISADE_ENROLMENT says otherwise. */
export function usualEnrolmentPath({ agentDir }: Pick<AgentConfig, 'agentDir'>): string {
  return join(agentDir, 'enrolment.json')
}

/** Looks whether another organization claims the machine as well, and applies what is found. */
export function createEnrolmentCount(
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
 * Tells whether another organization claims this machine as well: with PALISADE_ENROLMENT
 * elsewhere, by an enrolment in the data directory, where one is by default. A file there that
 * cannot be read counts as a claim, because nobody can say that it is none.
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
