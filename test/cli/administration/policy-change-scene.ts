import { openTestServer } from '../../server/test-server.ts'
import { runCli, type CliRun } from '../run-cli.ts'

/** Alice owns acme with the teams `research` and `a, b`; bob is a plain member of `research`. */
export async function openAcme() {
  const { server, createOrganization } = await openTestServer()
  const { personal_token } = await createOrganization('acme', 'alice')
  const PALISADE_SERVER = await server.app.listen({ host: '127.0.0.1', port: 0 })
  const as = (username: string, token: string) => ({
    PALISADE_SERVER,
    PALISADE_ORG: 'acme',
    PALISADE_USERNAME: username,
    PALISADE_TOKEN: token,
  })
  const alice = (...argv: string[]): Promise<CliRun> =>
    runCli(argv, { env: as('alice', personal_token) })
  const password = 'a long and unusual sentence'
  await runCli(['member', 'add', 'bob', '--role', 'member', '--password-stdin'], {
    env: as('alice', personal_token),
    stdin: password,
  })
  for (const team of ['research', 'a, b']) await alice('team', 'create', team)
  await alice('team', 'add', 'research', 'bob')
  await alice('policy', 'create', 'web')
  const rule = ['--name', 'r', '--action', 'connect:tcp', '--allow', 'example.com:443']
  await alice('rule', 'add', 'web', ...rule)
  const bob = (...argv: string[]): Promise<CliRun> => runCli(argv, { env: as('bob', password) })
  return { alice, bob }
}
