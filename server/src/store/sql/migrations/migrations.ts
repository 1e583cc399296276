import type { Migration } from '../dialect.ts'
import { accessRequests } from './access-requests.ts'
import { evidenceSettings } from './evidence-settings.ts'
import { initial } from './initial/initial.ts'
import { reportAssurance } from './report-assurance.ts'
import { reportEnforcement } from './report-enforcement.ts'
import { ruleLife } from './rule-life.ts'
import { supportMessage } from './support-message.ts'

/**
 * The schema, as steps that only go forward, the same for all drivers; the step at index n leads
 * to version n + 1. A step is never edited, because stores with it exist: a change of the schema
 * is a step of its own.
 */
export const MIGRATIONS: readonly Migration[] = [
  initial,
  reportEnforcement,
  reportAssurance,
  evidenceSettings,
  accessRequests,
  ruleLife,
  supportMessage,
]
