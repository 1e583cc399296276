import { readPrivateFile } from '@palisade/client'
import { keptEnrolmentSchema, parseJson, type Enrolment } from '@palisade/protocol'
import { join } from 'node:path'
import type { AgentConfig } from '../config/config.ts'

const MAX_BYTES = 65_536

/** Where the enrolment is unless PALISADE_ENROLMENT says otherwise. */
export function usualEnrolmentPath({ agentDir }: Pick<AgentConfig, 'agentDir'>): string {
  return join(agentDir, 'enrolment.json')
}

/**
 * Tells whether another organization claims this machine as well: with PALISADE_ENROLMENT elsewhere,
 * by an enrolment in the data directory, where one is by default. A file there that cannot be read
 * counts as a claim, because nobody can say that it is none.
 */
export async function hasSecondEnrolment(
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
