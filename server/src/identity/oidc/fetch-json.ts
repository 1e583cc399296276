/** Why a document could not be had; `message` names no content of it. */
export class FetchError extends Error {
  override readonly name = 'FetchError'
  readonly code = 'ERR_OIDC_FETCH'
}

export interface FetchLimits {
  /** For everything, from the name lookup to the last byte. */
  readonly timeoutMs: number
  /** Most bytes of the decoded body, counted while it arrives. */
  readonly maxBytes: number
}

/**
 * The JSON document at the URL. Throws FetchError for a status other than 200, a redirect, which
 * could lead anywhere, and what is too slow, too long or no JSON.
 */
export async function fetchJson(url: string, limits: FetchLimits): Promise<unknown> {
  const signal = AbortSignal.timeout(limits.timeoutMs)
  try {
    const response = await fetch(url, {
      redirect: 'error',
      credentials: 'omit',
      headers: { accept: 'application/json, application/jwk-set+json' },
      signal,
    })
    if (response.status !== 200) {
      await response.body?.cancel()
      throw new FetchError(`\`${url}\` answered with status ${response.status}`)
    }
    return JSON.parse(await readText(response, url, limits.maxBytes))
  } catch (error) {
    if (error instanceof FetchError) throw error
    throw new FetchError(`\`${url}\` ${describe(error, signal, limits)}`, { cause: error })
  }
}

async function readText(response: Response, url: string, maxBytes: number): Promise<string> {
  const decoder = new TextDecoder('utf-8', { fatal: true })
  let text = ''
  let bytes = 0
  // Leaving the loop cancels the body, and with it the connection.
  for await (const chunk of response.body ?? []) {
    bytes += chunk.byteLength
    if (bytes > maxBytes) throw new FetchError(`\`${url}\` is longer than ${maxBytes} bytes`)
    text += decoder.decode(chunk, { stream: true })
  }
  return text + decoder.decode()
}

function describe(error: unknown, signal: AbortSignal, { timeoutMs }: FetchLimits): string {
  if (signal.aborted) return `took longer than ${timeoutMs} ms`
  if (error instanceof SyntaxError) return 'is no JSON'
  return 'could not be fetched'
}
