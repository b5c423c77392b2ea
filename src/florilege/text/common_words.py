"""What languages of the Latin script are told apart by; see :mod:`florilege.text.languages`."""

from __future__ import annotations

COMMON_WORDS = {
    "en": """
        the of and to in is was were for that on are with as by at be this from it which or an have has had not what who
        when where why how did does do his her their its they he she we you i my your our can could would should will
        may might must been being than then there these those but if into about between during after before more most
        many much some any all each other such no so also only over under of out up because while whose whom one first
        two new us me him them a am very just own same both few through against
    """,
    "de": """
        der die das und ist nicht ein eine einen einem einer eines den dem des im in zu zur zum mit von vom für auf sich
        auch es sie er ich wir ihr wie was wer wo wann warum welche welcher welches welchem welchen wurde wurden wird
        werden worden war waren hat haben hatte hatten sind sein seine seinen ihre ihren als bei beim nach aus durch
        über unter oder aber wenn dass noch nur so kann können konnte muss soll dieser diese dieses diesem kein keine am
        an um bis gegen ohne zwischen während viele wieviele mehr sehr man zwei alle ab vor wurden etwa wo gibt
    """,
    "fr": """
        le la les un une des du de et est dans en que qui quoi où quand comment pourquoi quel quelle quels quelles ne
        pas pour par sur au aux avec son sa ses leur leurs ce cette ces cet se sont été était étaient être avait ont
        fait plus il elle ils elles nous vous je on ou mais comme si après avant entre sous sans chez dont aussi très
        tout tous toute toutes même peut deux combien lors depuis pendant afin ainsi y d l qu n s c j votre vos notre
    """,
    "es": """
        el la los las un una unos unas de del y es en que qué quién quiénes cuál cuáles cómo cuándo dónde cuánto cuántos
        cuántas por para con no se su sus lo al fue fueron era eran ser está están ha han había como más pero si sí o u
        entre sobre sin desde hasta durante también muy ya este esta estos estas ese esa eso esto aquel cuando donde
        quien cual porque todo todos toda todas otro otra otros dos según ante tras le les mi tu nos hay tiene tienen
        puede
    """,
    "it": """
        il lo la i gli le un una uno di del della dello dei degli delle dell e è in nel nella nei nelle nell che chi
        cosa quale quali come quando dove perché quanto quanti quante per con non si da dal dalla dai dalle al alla ai
        alle agli su sul sulla sui sono era erano stato stata stati state essere ha hanno aveva più ma o anche se questo
        questa questi queste quello quella suo sua suoi sue loro tra fra fino dopo prima durante molto ogni tutti tutte
        cui ci ne due può deve
    """,
    "pt": """
        o a os as um uma uns umas de do da dos das e é em no na nos nas que quem qual quais como quando onde quanto
        quantos quantas por para pelo pela pelos pelas com não se seu sua seus suas ao aos à às foi foram era eram ser
        está estão são tem têm mais mas ou entre sobre sem desde até durante também muito já este esta esse essa isso
        isto aquele porque todo todos toda todas outro outra outros dois duas ele ela eles elas lhe você nós há pode foi
        num numa
    """,
    "nl": """
        de het een en van is in op te dat die voor met niet zijn aan er om ook als door over bij uit naar maar was waren
        wordt worden werd werden heeft hebben had hadden hij zij ze wij we je u ik haar hun wat wie waar wanneer waarom
        hoe welke welk hoeveel deze dit dan nog wel geen tot tegen tussen tijdens na onder zonder of kan kunnen kon moet
        moeten zal zullen zou meer veel alle andere worden geworden geweest mijn uw onze meest twee eerste jaar
    """,
    "sv": """
        och att det som en ett på är av för med den till inte har om de var vad vem när var varför hur vilken vilket
        vilka från han hon vi ni jag du man så ut ska skulle kan kunde blev blir bli varit hade sin sitt sina deras hans
        hennes eller men efter under över vid mellan mot utan också mycket många mer mest alla detta denna dessa genom
        upp finns fanns där här än då nu bara år två ingen inom kommer göra
    """,
    "da": """
        og at det som en et på er af for med den til ikke har om de var hvad hvem hvornår hvor hvorfor hvordan hvilken
        hvilket hvilke fra han hun vi jeg du man så ud skal skulle kan kunne blev bliver blive været havde sin sit sine
        deres hans hendes eller men efter under over ved mellem mod uden også meget mange mere mest alle dette denne
        disse gennem op findes der her end da nu kun år to ingen inden kommer gøre mig dig sig os jer
    """,
    "no": """
        og at det som en et ei på er av for med den til ikke har om de var hva hvem når hvor hvorfor hvordan hvilken
        hvilket hvilke fra han hun vi jeg du man så ut skal skulle kan kunne ble blir bli vært hadde sin sitt sine deres
        hans hennes eller men etter under over ved mellom mot uten også mye mange mer mest alle dette denne disse
        gjennom opp finnes der her enn da nå bare år to ingen innen kommer gjøre meg deg seg oss dere noen
    """,
    "fi": """
        ja on ei oli ovat olivat se että hän he ne mutta kuin tai myös joka jotka jossa josta johon mikä mitä missä
        mistä milloin miksi miten kuka ketkä kuinka minkä mihin monta mitkä ole olla ollut olisi tämä tämän nämä sen
        sitä siitä sitten niin nyt kun jos vain kaikki sekä jälkeen ennen aikana välillä kanssa vuonna vuoden hänen
        heidän sen minä sinä me te ovatko onko voi voivat voidaan tuli eivät enemmän paljon monet muun muita mukaan jo
        eli vielä
    """,
    "pl": """
        i w na z do nie się jest to że o jak co kto kiedy gdzie dlaczego który która które którzy którego której których
        jaki jaka jakie jakiego jakim ile czy dla od po przez przy pod nad za ze są był była było byli były być został
        została zostały ma mają jego jej ich ale lub oraz tylko także również może można tym tego ten ta te tej bardzo
        już tak bez między podczas przed roku jako które we u wszystkie więcej został czego czym
    """,
    "cs": """
        a v na se je že to s z do o jak co kdo kdy kde proč který která které kteří kterého jaký jaká jaké kolik pro od
        po při pod nad za ze jsou byl byla bylo byli byly být má mají jeho její jejich ale nebo také jen může lze tím
        toho ten ta tato tento tyto této velmi již už tak bez mezi během před roce jako ve k u i není jsem jste bude
        však více podle aby když jsme by si
    """,
    "hu": """
        a az és hogy nem is egy van volt voltak meg ki mi mit mikor hol miért hogyan melyik milyen hány mennyi kik ez
        ezt azt ezek azok de vagy csak még már mint ha el fel le be után előtt között alatt során szerint által lett
        lesz lehet kell ami aki amely amelyek akik amit volna ennek annak így úgy itt ott minden sok több legtöbb nagyon
        majd pedig mert ahol amikor nincs vannak egyik másik hogyan kinek miből mely
    """,
    "ro": """
        și de la în a al ai ale cu pe din este sunt un o nu se că ce cine când unde cum care cât câți câte pentru prin
        fost era erau fi au are avea lui ei lor sa său săi dar sau mai după înainte între sub fără despre până dintre
        acest această acesta aceasta aceste acești foarte tot toate toți alt alte doi două cel cea cei cele către sunt
        poate i îi își l le ne vă nici iar deși asupra
    """,
    "tr": """
        ve bir bu ile için da de ne kim nerede nasıl neden niçin hangi hangisi kaç kadar olan olarak oldu olduğu
        olduğunu olmuştur vardır var yok değil mi mı mu mü daha çok en gibi sonra önce göre arasında ama veya ya her o
        onun onların şu ben sen biz siz ise tarafından üzerinde içinde hem ki zaman nedir nelerdir kimdir kimin neler
        nereye nereden etmek olmak edilen eden etti edildi yılında tane bunun şekilde ancak bazı diğer tüm
    """,
    "vi": """
        và của là có được không trong cho các những một với người này đã để khi từ ở như về ra gì ai nào đâu sao bao
        nhiêu thế vào đến sẽ cũng hay hoặc nhưng tại theo trên dưới sau trước bị do nên mà rất lại còn chỉ đó ông bà anh
        chị tôi bạn chúng họ năm ngày nhiều nhất hơn làm thì phải đang vì nếu
    """,
    "id": """
        yang dan di dari untuk dengan ini itu pada adalah tidak dalam ke oleh sebagai akan telah juga atau ada apa siapa
        kapan dimana mana mengapa kenapa bagaimana berapa bahwa karena seperti lebih dapat bisa harus sudah belum mereka
        dia ia kami kita saya anda nya para antara setelah sebelum saat ketika secara sangat banyak semua setiap hanya
        tetapi namun jika maka menjadi merupakan tersebut tahun terhadap hingga sampai orang sedang pun saja lain kepada
        bagi
    """,
}
"""Articles, pronouns, prepositions, conjunctions, auxiliaries and question words, by two-letter code."""

WEAK_WORDS = """
    a al ale alle an art as at azt ben bin bud care co come comment con da dan das de dei del della den der des di
    die do don dos du due e el en es et far gut ha had hat he her hun i il in is kan la las le les lo los man me men
    met mi mine mit mot ni no non note o on or os per plus po pro sa san são se si sin so son state stati sur ten to top
    tot u un us van var ver via vo von war we y zu
"""
"""Common words that are found in names, or are English words besides."""

LETTERS = {
    "de": "äöüß",
    "fr": "àâæçéèêëîïôœùûü",
    "es": "áéíñóúü",
    "it": "àèéìòù",
    "pt": "áâãàçéêíóôõú",
    "nl": "éëïó",
    "sv": "åäöé",
    "da": "æøåé",
    "no": "æøåéòô",
    "fi": "äöå",
    "pl": "ąćęłńóśźż",
    "cs": "áčďéěíňóřšťúůýž",
    "hu": "áéíóöőúüű",
    "ro": "ăâîșțşţ",
    "tr": "çğıöşüâî\u0307",
}
"""The letters beyond a to z that a language writes."""

ENDINGS = {
    "de": "ungen keit keiten schaft lich liche lichen ischen ische",
    "fr": "aient euse euses eaux",
    "es": "ción ciones dad dades miento amente",
    "it": "zione zioni mente ità aggio",
    "pt": "ção ções dade dades mento",
    "nl": "heid heden lijk lijke ische",
    "sv": "arna erna heten ningen ligt",
    "da": "erne ende lige heden",
    "no": "ene heten lige",
    "fi": "ssa ssä sta stä lla llä lta ltä ksi vat vät inen isen sten iden",
    "pl": "ego emu ych ymi ość ości owy owa owe cji",
    "cs": "ého ému ých ými ost osti ství ování",
    "hu": "ban ben nak nek ból ből ról ről tól től hoz hez val vel ság ség ként ások ések",
    "ro": "ului elor ilor ție ții ește ească",
    "tr": "ları leri larda lerde ların lerin lığı liği dır dir dur dür mış miş muş müş ında inde ından inden ması mesi",
    "id": "nya kannya annya",
}
"""Endings of words that few other languages have."""
