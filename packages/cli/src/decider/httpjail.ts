import { decodeUtf8, splitLines, type Line } from '@palisade/client'
import { parseJson } from '@palisade/protocol'
import { requestOfUrl } from '../hook/access-request.ts'
import { isObject } from '../hook/tool-requests.ts'
import { describeUndecided } from '../hook/denial-text.ts'
import type { Io } from '../runtime/io.ts'
import { write } from '../runtime/write.ts'
import { denyConnections } from './deny-connections.ts'

/** An address of many kilobytes is given twice, as `url` and as `path`. */
const MAX_LINE_BYTES = 1024 * 1024

/**
 * The line processor of httpjail (docs/guide/rule-engines/line-processor.md): one JSON object a
 * line, answered in order with `true` or with an object that denies. Ends with its input.
 */
export async function serveHttpjail(io: Io): Promise<void> {
  const source = io.stdin as AsyncIterable<Buffer | string>
  for await (const lines of splitLines(source, MAX_LINE_BYTES))
    for (const line of lines) if (!(await write(io.stdout, await answerLine(line, io)))) return
}

async function answerLine(line: Line, io: Io): Promise<string> {
  const text = line === null ? null : decodeUtf8(line)
  const json = text === null ? null : parseJson(text)
  const url: unknown = json?.ok === true && isObject(json.value) ? json.value['url'] : null
  if (typeof url !== 'string') return deny(describeUndecided('the line is no request of httpjail'))
  const request = requestOfUrl(url)
  if (request === null) return deny(describeUndecided('`url` is no http or https address'))
  const denial = await denyConnections([request], io)
  return denial === null ? 'true\n' : deny(denial.text)
}

function deny(message: string): string {
  return `${JSON.stringify({ allow: false, deny_message: message })}\n`
}
