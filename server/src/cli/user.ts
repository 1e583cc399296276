import { hashPassword } from '../identity/sign-in/password.ts'
import { revokeUser } from '../organizations/revoke-user.ts'
import { CommandFailure } from '../platform/command-failure.ts'
import { withStore } from './with-store.ts'
import type { Config } from '../config/config.ts'
import { createAuditedStore } from '../history/audit/audited-store.ts'
import { OPERATOR } from '../history/author.ts'
import type { Sources } from '../platform/sources.ts'
import type { StoreReader } from '../store/store.ts'

export interface UserOptions {
  readonly json?: true
}

const PASSWORD_BYTES = 18

/** `user revoke` */
export async function revokeUserCommand(
  config: Config,
  sources: Sources,
  username: string,
  options: UserOptions,
): Promise<void> {
  await withStore(config, 'existing', async (store) => {
    const revoked = await createAuditedStore({ store, now: sources.now }).write(
      OPERATOR,
      async (writer) => {
        await requireUser(writer, username)
        return revokeUser(writer, username, sources.now())
      },
    )
    const { personal_tokens, organization_tokens, devices } = revoked
    print(
      options,
      { username, ...revoked },
      `ended the password and the sessions of \`${username}\`; revoked ${personal_tokens} ` +
        `personal tokens, ${organization_tokens} organization tokens and ${devices} devices\n`,
    )
  })
}

/** `user reset-password` */
export async function resetPasswordCommand(
  config: Config,
  sources: Sources,
  username: string,
  options: UserOptions,
): Promise<void> {
  const password = Buffer.from(sources.random(PASSWORD_BYTES)).toString('base64url')
  const hash = await hashPassword(password, sources.random)
  await withStore(config, 'existing', async (store) => {
    await createAuditedStore({ store, now: sources.now }).write(OPERATOR, async (writer) => {
      await requireUser(writer, username)
      await writer.users.updatePassword(username, hash)
    })
    print(
      options,
      { username, password },
      `password of ${username}  ${password}\n\n` +
        'Store it now; it is not shown again. Sessions of the old password have ended.\n',
    )
  })
}

async function requireUser(reader: StoreReader, username: string): Promise<void> {
  if ((await reader.users.find(username)) === null)
    throw new CommandFailure('refused', `there is no user \`${username}\``)
}

function print({ json }: UserOptions, value: object, text: string): void {
  process.stdout.write(json === true ? `${JSON.stringify(value)}\n` : text)
}
