import {
  changedDistributionSettingsSchema,
  type ChangedDistributionSettings,
} from '@palisade/protocol'
import { updateDistribution } from '../organizations/update-distribution.ts'
import { formatColumns } from './columns.ts'
import { CommandFailure } from '../platform/command-failure.ts'
import { withStore } from './with-store.ts'
import type { Config } from '../config/config.ts'
import { createAuditedStore } from '../history/audit/audited-store.ts'
import { OPERATOR } from '../history/author.ts'
import { ApiError } from '../platform/api-error.ts'
import type { Sources } from '../platform/sources.ts'

const SECONDS = { s: 1, m: 60, h: 60 * 60, d: 24 * 60 * 60 } as const
const DURATION = /^(?<count>[1-9]\d{0,8})(?<unit>[smhd])$/

export interface SetOrganizationOptions {
  readonly freshFor?: string
  readonly expiresAfter?: string
  /** False for `--no-offline-allow`. */
  readonly offlineAllow?: readonly string[] | false
  readonly json?: true
}

/** `org set` */
export async function setOrganizationCommand(
  config: Config,
  sources: Sources,
  name: string,
  options: SetOrganizationOptions,
): Promise<void> {
  const changed = readChanges(options)
  await withStore(config, 'existing', async (store) => {
    try {
      const settings = await createAuditedStore({ store, now: sources.now }).write(
        OPERATOR,
        async (writer) => {
          if ((await writer.organizations.find(name)) === null)
            throw new CommandFailure('refused', `there is no organization \`${name}\``)
          return updateDistribution(writer, name, changed)
        },
      )
      const rows = Object.entries(settings).map(([member, value]) => [member, String(value)])
      process.stdout.write(
        options.json === true ? `${JSON.stringify(settings)}\n` : formatColumns(rows),
      )
    } catch (error) {
      if (error instanceof ApiError) throw new CommandFailure('usage', error.message)
      throw error
    }
  })
}

function readChanges({
  freshFor,
  expiresAfter,
  offlineAllow,
}: SetOrganizationOptions): ChangedDistributionSettings {
  const changed = changedDistributionSettingsSchema.safeParse({
    ...(freshFor === undefined ? {} : { fresh_for_seconds: readSeconds(freshFor) }),
    ...(expiresAfter === undefined ? {} : { expires_after_seconds: readSeconds(expiresAfter) }),
    ...(offlineAllow === undefined ? {} : { offline_allow: offlineAllow || [] }),
  })
  if (changed.success) return changed.data
  const [issue] = changed.error.issues
  const where = issue?.path[0] === undefined ? '' : `${String(issue.path[0])} `
  throw new CommandFailure('usage', `${where}${issue?.message ?? 'is not a setting'}`)
}

function readSeconds(text: string): number {
  const { count = '', unit = '' } = DURATION.exec(text)?.groups ?? {}
  if (unit in SECONDS) return Number(count) * SECONDS[unit as keyof typeof SECONDS]
  throw new CommandFailure('usage', `\`${text}\` is not a duration; write \`12h\` or \`7d\``)
}
