import { CommandFailure } from '../platform/command-failure.ts'
import { formatColumns } from './columns.ts'
import { withStore } from './with-store.ts'
import type { Config } from '../config/config.ts'
import { createAuditedStore } from '../history/audit/audited-store.ts'
import { OPERATOR } from '../history/author.ts'
import type { Sources } from '../platform/sources.ts'
import type { SigningKeyRecord } from '../store/records.ts'
import {
  retireAccessTokenKey,
  rotateAccessTokenKey,
} from '../identity/tokens/rotate-access-token-key.ts'
import { isSigning, isVerifying } from '../identity/tokens/ensure-signing-keys.ts'

export interface KeyOptions {
  readonly json?: true
}

/** The members of a key that a command shows; never its private part. */
interface KeyView {
  readonly kid: string
  readonly purpose: 'access-token'
  readonly state: 'signing' | 'verifying' | 'retired'
  readonly created_at: string
  readonly verifies_until: string | null
}

/** `keys list` */
export async function listKeysCommand(
  config: Config,
  { now }: Sources,
  options: KeyOptions,
): Promise<void> {
  await withStore(config, 'existing', async (store) => {
    const records = await store.read(({ signingKeys }) => signingKeys.list('access_token'))
    const data = records.map((record) => viewOf(record, now()))
    print(options, { data }, () =>
      formatColumns([
        ['KEY', 'SIGNS', 'STATE', 'CREATED', 'VERIFIES UNTIL'],
        ...data.map(({ kid, purpose, state, created_at, verifies_until }) => [
          kid,
          purpose,
          state,
          created_at,
          verifies_until ?? '',
        ]),
      ]),
    )
  })
}

/** `keys rotate access-token` */
export async function rotateKeyCommand(
  config: Config,
  { now }: Sources,
  options: KeyOptions,
): Promise<void> {
  await withStore(config, 'existing', async (store) => {
    const at = now()
    const { signing, followed } = await rotateAccessTokenKey(
      createAuditedStore({ store, now }),
      OPERATOR,
      at,
    )
    const views = followed.map((record) => viewOf(record, at))
    print(options, { signing: viewOf(signing, at), followed: views }, () =>
      [
        `access tokens are signed with \`${signing.kid}\` from now on`,
        ...views.map(({ kid, verifies_until }) => `\`${kid}\` verifies until ${verifies_until}`),
        '',
      ].join('\n'),
    )
  })
}

/** `keys retire KID` */
export async function retireKeyCommand(
  config: Config,
  { now }: Sources,
  kid: string,
  options: KeyOptions,
): Promise<void> {
  await withStore(config, 'existing', async (store) => {
    const retired = await retireAccessTokenKey(
      createAuditedStore({ store, now }),
      OPERATOR,
      kid,
      now(),
    )
    if (retired === 'unknown')
      throw new CommandFailure(
        'refused',
        `there is no access token key \`${kid}\`; see \`palisade-server keys list\``,
      )
    if (retired === 'signing')
      throw new CommandFailure(
        'refused',
        `\`${kid}\` is the signing key; run \`palisade-server keys rotate access-token\` first`,
      )
    print(
      options,
      viewOf(retired, now()),
      () => `retired \`${kid}\`; every token that it signed is refused\n`,
    )
  })
}

function viewOf(record: SigningKeyRecord, now: Date): KeyView {
  const { kid, created_at, verifies_until } = record
  const past = isVerifying(record, now) ? 'verifying' : 'retired'
  return {
    kid,
    purpose: 'access-token',
    state: isSigning(record) ? 'signing' : past,
    created_at,
    verifies_until,
  }
}

function print({ json }: KeyOptions, value: object, text: () => string): void {
  process.stdout.write(json === true ? `${JSON.stringify(value)}\n` : text())
}
