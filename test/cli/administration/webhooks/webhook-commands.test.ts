import { describe, expect, it } from 'vitest'
import { openTestServer } from '../../../server/test-server.ts'
import { openReceiver, verify } from '../../../server/webhooks/receiver.ts'
import { runCli, type CliRun, type CliSetting } from '../../run-cli.ts'

const NOW = new Date('2026-11-21T08:00:00.250Z')

/** `palisade` as alice, the owner of acme, and a web server that takes deliveries. */
async function openAcme() {
  const { server, createOrganization } = await openTestServer(undefined, {
    settings: { PALISADE_WEBHOOK_NETWORKS: '127.0.0.1' },
  })
  const { personal_token } = await createOrganization('acme', 'alice')
  const env = {
    PALISADE_SERVER: await server.app.listen({ host: '127.0.0.1', port: 0 }),
    PALISADE_ORG: 'acme',
    PALISADE_USERNAME: 'alice',
    PALISADE_TOKEN: personal_token,
  }
  const run = (argv: readonly string[], setting: CliSetting = {}): Promise<CliRun> =>
    runCli(['webhook', ...argv], { env, now: () => NOW.getTime(), ...setting })
  async function ok(...argv: string[]): Promise<string> {
    const { code, out, err } = await run(argv)
    expect(`${code} ${err}`, argv.join(' ')).toBe('0 ')
    return out
  }
  return { run, ok, receiver: await openReceiver() }
}

describe('palisade webhook', () => {
  it('adds one, prints only its secret, and shows its deliveries', async () => {
    const { ok, receiver } = await openAcme()
    expect(await ok('list')).toBe('no webhooks; write `palisade webhook add URL`\n')

    const secret = (await ok('add', receiver.url)).trimEnd()
    await receiver.count(1)

    expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/)
    const [request] = receiver.received
    if (request === undefined) throw new Error('nothing was delivered')
    expect(verify(request, secret, NOW)).toMatchObject({ kind: 'webhook.created' })
    const { data } = JSON.parse(await ok('list', '--json'))
    expect(data).toMatchObject([{ url: receiver.url, enabled: true }])
    expect(await ok('list')).toMatch(
      new RegExp(
        `^URL +STATE +SECRET +ID\n${receiver.url} +enabled +made just now +${data[0].id}\n$`,
      ),
    )
    expect(await ok('show', receiver.url)).toContain(data[0].id)
    expect(JSON.parse(await ok('show', data[0].id, '--json'))).toEqual(data[0])
    await expect
      .poll(() => ok('deliveries', receiver.url))
      .toMatch(
        new RegExp(
          '^EVENT +STATE +ATTEMPTS +ANSWER +LAST +NEXT +ID\n' +
            `5 +delivered +1 +204 +just now +${String(request.headers['webhook-id'])}\n$`,
        ),
      )
    expect(await ok('deliveries', receiver.url, '--state', 'dead')).toBe('no deliveries\n')
  })

  it('redelivers, also with a new secret', async () => {
    const { run, ok, receiver } = await openAcme()
    await ok('add', receiver.url)
    await receiver.count(1)
    await expect.poll(() => ok('deliveries', receiver.url)).toContain('delivered')
    const { data } = JSON.parse(await ok('deliveries', receiver.url, '--json'))

    await ok('update', receiver.url, '--disable')
    const secret = (await ok('rotate-secret', receiver.url)).trimEnd()
    const again = await ok('redeliver', receiver.url, data[0].id)
    await ok('update', receiver.url, '--enable')
    await receiver.count(2)

    expect(again).toMatch(/\n5 +pending +0 /)
    const last = receiver.received[1]
    if (last === undefined) throw new Error('nothing was delivered')
    expect(last.headers['webhook-id']).toBe(data[0].id)
    expect(verify(last, secret, NOW)).toMatchObject({ sequence: 5 })
    const unknown = await run(['redeliver', receiver.url, 'evt_1_nothing'])
    expect(unknown).toMatchObject({ code: 1, out: '' })
    expect(unknown.err).toContain('delivery not found')
  })

  it('changes and removes one, after a confirmation', async () => {
    const { run, ok, receiver } = await openAcme()
    await ok('add', receiver.url)

    expect(await ok('update', receiver.url, '--disable')).toMatch(/ disabled /)
    const url = `${receiver.url}/new`
    expect(
      JSON.parse(await ok('update', receiver.url, '--url', url, '--enable', '--json')),
    ).toMatchObject({ url, enabled: true })
    const alone = await run(['remove', url])
    expect([alone.code, alone.out]).toEqual([2, ''])
    expect(await ok('remove', url, '--yes')).toContain(`deleted the webhook to ${url}`)
    expect(JSON.parse(await ok('list', '--json'))).toEqual({ data: [] })
  })

  it('refuses an empty change, invalid options, and an unknown or ambiguous webhook', async () => {
    const { run, ok, receiver } = await openAcme()
    await ok('add', receiver.url)

    for (const argv of [
      ['update', receiver.url],
      ['update', receiver.url, '--enable', '--disable'],
      ['deliveries', receiver.url, '--state', 'lost'],
    ])
      expect(await run(argv)).toMatchObject({ code: 2, out: '' })
    expect((await run(['show', `${receiver.url}s`])).err).toBe(
      `error: no webhook \`${receiver.url}s\`; did you mean \`${receiver.url}\`?\n`,
    )
    await ok('add', receiver.url)
    expect((await run(['show', receiver.url])).err).toContain('several webhooks have the URL')
    const refused = await run(['add', 'http://192.0.2.7/hook'])
    expect(refused).toMatchObject({ code: 1, out: '' })
  })
})
