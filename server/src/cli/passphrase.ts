import { readFileSync, statSync } from 'node:fs'
import { createInterface } from 'node:readline/promises'
import { Writable } from 'node:stream'
import { CommandFailure } from '../platform/command-failure.ts'

/** The key derivation of PKCS#8 is quick to try out, so the passphrase has to be long. */
const MIN_CHARACTERS = 16

/**
 * From a file that other users cannot read, or asked for on the terminal; never from the arguments,
 * which every user of the machine can see. A new one is asked for twice.
 */
export async function readPassphrase(
  file: string | undefined,
  { isNew }: { readonly isNew: boolean },
): Promise<string> {
  const passphrase = file === undefined ? await askFor(isNew) : readPassphraseFile(file)
  if (isNew && passphrase.length < MIN_CHARACTERS)
    throw new CommandFailure('usage', `a passphrase needs at least ${MIN_CHARACTERS} characters`)
  return passphrase
}

function readPassphraseFile(file: string): string {
  try {
    if ((statSync(file).mode & 0o077) !== 0)
      throw new CommandFailure('refused', `others can read \`${file}\`; run \`chmod 600\` on it`)
    return readFileSync(file, 'utf8').replace(/\r?\n$/, '')
  } catch (error) {
    if (error instanceof CommandFailure) throw error
    throw new CommandFailure('usage', `cannot read passphrase file \`${file}\``)
  }
}

async function askFor(isNew: boolean): Promise<string> {
  if (!process.stdin.isTTY)
    throw new CommandFailure('usage', 'there is no terminal; write `--passphrase-file FILE`')
  const passphrase = await ask('passphrase of the root key: ')
  if (isNew && (await ask('repeat the passphrase: ')) !== passphrase)
    throw new CommandFailure('usage', 'the two passphrases differ')
  return passphrase
}

/** Typed characters are not shown. */
async function ask(question: string): Promise<string> {
  process.stderr.write(question)
  const output = new Writable({ write: (_chunk, _encoding, done) => done() })
  const terminal = createInterface({ input: process.stdin, output, terminal: true })
  try {
    return await terminal.question('')
  } finally {
    terminal.close()
    process.stderr.write('\n')
  }
}
