import { quote } from '../quote.ts'

/**
 * Domains below which strangers can register names: the most common registries and hosting
 * providers of the Public Suffix List (publicsuffix.org). The list is short on purpose: every entry
 * is certain, and the full list is larger than the evaluator.
 */
const OPEN_TO_ALL: ReadonlySet<string> = new Set(
  `ac.jp ac.uk co.at co.id co.il co.in co.jp co.ke co.kr co.nz co.th co.uk co.za com.ar com.au
  com.br com.cn com.co com.es com.hk com.mx com.my com.ph com.pl com.sg com.tr com.tw com.ua com.vn
  gov.uk me.uk ne.jp net.au net.br net.cn net.uk or.jp org.au org.br org.cn org.uk
  amazonaws.com appspot.com azureedge.net azurewebsites.net blob.core.windows.net blogspot.com
  cloudapp.azure.com cloudapp.net cloudfront.net cloudfunctions.net elasticbeanstalk.com
  firebaseapp.com fly.dev github.io gitlab.io herokuapp.com lambda-url.us-east-1.on.aws
  myshopify.com netlify.app ngrok-free.app ngrok.app ngrok.io onrender.com pages.dev r2.dev repl.co
  run.app s3.amazonaws.com surge.sh trycloudflare.com vercel.app web.app workers.dev`.split(/\s+/),
)

/** Special-use and customary private names of one label. Strangers cannot register below them. */
const PRIVATE: ReadonlySet<string> = new Set(
  `cluster consul corp example home internal intranet invalid lan local localhost private svc
  test`.split(/\s+/),
)

/** Says why a wildcard below the domain reaches strangers, or returns null. */
export function describeBroadDomain(domain: string): string | null {
  if (!domain.includes('.'))
    return PRIVATE.has(domain) ? null : 'every name in a top-level domain, regardless of its owner'
  return OPEN_TO_ALL.has(domain) ? 'names that anybody can get' : null
}

/** Says why `**` below the domain reaches strangers on any level, or returns null. */
export function describeBroadDepths(domain: string): string | null {
  const open = [...OPEN_TO_ALL].find((each) => each.endsWith(`.${domain}`))
  return (
    describeBroadDomain(domain) ??
    (open === undefined ? null : `names that anybody can get, below ${quote(open)}`)
  )
}
