import type { Enrolment } from '@palisade/protocol'
import { requireRoomForDevice, type Quotas } from '../../identity/limits/quotas.ts'
import { clientNetwork } from '../../http/client-network.ts'
import type { SignInLimits } from '../../identity/sign-in/sign-in-limits.ts'
import type { AuditedStore } from '../../history/audit/audited-store.ts'
import type { RequestOrigin } from '../../history/author.ts'
import { permissionDenied, unauthenticatedDevice } from '../../platform/api-error.ts'
import type { EnrolmentTokenRecord } from '../../store/distribution-records.ts'
import type { StoreReader, StoreWriter } from '../../store/store.ts'
import { hashSecretToken, kindOfSecretToken } from '../../identity/tokens/secret-token.ts'
import type { ProvenKey } from '../../identity/device/require-proof.ts'
import { enrolDevice, formatEnrolment, type EnrolDeps, type NewDevice } from './enrol-device.ts'

export interface EnrolMachineDeps extends EnrolDeps {
  readonly store: AuditedStore
  readonly signInLimits: SignInLimits
  readonly quotas: Quotas
  /** Origin under which devices reach this server. */
  readonly publicUrl: () => string
}

/** The request of a machine that enrols itself. */
export interface EnrolMachineRequest {
  /** `pal_enr_…`, as sent. */
  readonly secret: string
  /** Undefined when the machine gives no name. */
  readonly name: string | undefined
  /** That it has proven to hold. */
  readonly key: ProvenKey
  readonly from: RequestOrigin & { readonly address: string }
}

/**
 * Enrols a machine that has an enrolment token, for no user. A machine whose answer was lost may
 * ask again with the same token and key: it gets the same device, and the use does not count.
 *
 * Throws 401, the same for every invalid token, 403 for an organization without governance, 409 for
 * a key of another device, 429 after too many failures.
 */
export function createMachineEnrolment(
  deps: EnrolMachineDeps,
): (request: EnrolMachineRequest) => Promise<Enrolment> {
  const { store } = deps

  return async ({ secret, name, key, from }) => {
    const token = await store.read((reader) => findToken(reader, secret, deps.now()))
    if (token === null) {
      deps.signInLimits.countWrongToken(clientNetwork(from.address))
      throw refusal()
    }
    const actor = `enrolment:${token.org}:${token.id}`
    return store.write({ ...from, actor }, async (writer) => {
      const current = await findToken(writer, secret, deps.now())
      if (current === null) throw refusal()
      const organization = await writer.organizations.find(current.org)
      if (organization?.entitled !== true)
        throw permissionDenied(`organization \`${current.org}\` is not entitled to use governance`)
      key.consumeToEnrol()
      const machine = { thumbprint: key.thumbprint, name: name ?? null }
      return enrolWith(deps, writer, current, machine)
    })
  }
}

async function enrolWith(
  deps: EnrolMachineDeps,
  writer: StoreWriter,
  { id, org, labels, root_version }: EnrolmentTokenRecord,
  { thumbprint, name }: Pick<NewDevice, 'thumbprint' | 'name'>,
): Promise<Enrolment> {
  const root = await writer.trust.root(org, root_version)
  // INVARIANT: roots are kept for ever; without this one the token's pin could not be met.
  if (root === null) throw new TypeError(`root ${root_version} of \`${org}\` is missing`)
  const origin = { server: deps.publicUrl(), root }
  const known = await writer.devices.findByThumbprint(thumbprint)
  if (known !== null && known.enrolment_token_id === id && known.revoked_at === null)
    return formatEnrolment(known, origin)
  await requireRoomForDevice(writer, deps.quotas, { org, user: null, isOwn: false })
  const device = { org, user: null, thumbprint, name, labels, enrolment_token_id: id }
  const enrolment = await enrolDevice(deps, writer, device, origin)
  if ((await writer.enrolmentTokens.use(id, deps.now().toISOString())) === null) throw refusal()
  return enrolment
}

async function findToken(
  reader: StoreReader,
  secret: string,
  now: Date,
): Promise<EnrolmentTokenRecord | null> {
  if (kindOfSecretToken(secret) !== 'enrolment') return null
  const token = await reader.enrolmentTokens.findBySecretHash(hashSecretToken(secret))
  return token !== null && now.toISOString() < token.expires_at ? token : null
}

function refusal() {
  return unauthenticatedDevice('the enrolment token is invalid, expired or used up')
}
