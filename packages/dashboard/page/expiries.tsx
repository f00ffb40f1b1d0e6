import type { AuthorityPart } from '../src/document.ts';
import { calendarOf, expiriesOf } from '../src/view/calendar.ts';
import { counted, dayOf, durationWords } from '../src/view/words.ts';

const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];

const Amount = ({ cas, leaves }: { cas: number; leaves: number }) => (
  <>
    <span class={leaves === 0 ? 'none' : 'leaves'}>{leaves === 0 ? '·' : counted(leaves)}</span>
    {cas > 0 && <span class="cas">{cas} CA</span>}
  </>
);

export const Expiries = ({ parts, now }: { parts: readonly AuthorityPart[]; now: number }) => {
  const all = expiriesOf(parts);
  const { months, later, overdue, soonest } = calendarOf(all, now);
  const total = (cas: number, leaves: number): string =>
    `${leaves} ${leaves === 1 ? 'leaf' : 'leaves'}${cas > 0 ? ` and ${cas} ${cas === 1 ? 'CA' : 'CAs'}` : ''}`;
  return (
    <section class="expiries" aria-labelledby="expiries">
      <h2 id="expiries">
        Expiry{' '}
        <span class="count">
          {overdue > 0
            ? `${overdue} expired`
            : `${counted(all.length)} ${all.length === 1 ? 'certificate' : 'certificates'}`}
        </span>
      </h2>
      <ol class="months">
        {months.map(({ year, month, cas, leaves }, index) => (
          <li
            key={`${year}-${month}`}
            class={cas + leaves === 0 ? 'empty' : ''}
            title={`${MONTHS[month]} ${year}: ${total(cas, leaves)}`}
          >
            <span class="month">
              {MONTHS[month]}
              {(index === 0 || month === 0) && <span class="year"> {year}</span>}
            </span>
            <Amount cas={cas} leaves={leaves} />
          </li>
        ))}
        <li
          class={later.cas + later.leaves === 0 ? 'empty' : ''}
          title={`later: ${total(later.cas, later.leaves)}`}
        >
          <span class="month">later</span>
          <Amount cas={later.cas} leaves={later.leaves} />
        </li>
      </ol>
      <table class="soonest">
        <thead>
          <tr>
            <th scope="col">soonest</th>
            <th scope="col">authority</th>
            <th scope="col">expires</th>
            <th scope="col" class="age">
              in
            </th>
          </tr>
        </thead>
        <tbody>
          {soonest.map(({ at, name, kind, authority }) => (
            <tr key={`${authority} ${name} ${at}`} class={at <= now ? 'over' : ''}>
              <th scope="row">{kind === 'ca' ? <b>{name}</b> : name}</th>
              <td>{authority}</td>
              <td>{dayOf(at)}</td>
              <td class="age">{at <= now ? 'expired' : durationWords(at - now)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
};
